// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipeline of a folder of sentence-transformers as its files describe it:
// modules.json, the configs of the modules, sentence_bert_config.json and
// config_sentence_transformers.json. What is not supported is no error, since
// the model without its pipeline can be compiled; it is kept as the reason why
// texts are not embedded.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/base/TorchActivation.h"
#include "runtime/json/JsonObject.h"
#include "runtime/manifest/Manifest.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// One module of a pipeline.
struct PipelineModule {
  enum class Kind {
    Transformer,     ///< the base model, or its logits for masked tokens
    StaticEmbedding, ///< vectors of a table, one for each id, and their mean
    Pooling,         ///< tokens to one vector, or several side by side
    Dense,           ///< a projection, an activation, perhaps a residual
    LayerNorm,       ///< with weights and biases
    Normalize,       ///< to length 1
    SpladePooling,   ///< log(1 + max(x, 0)), then the largest or the sum
    LogitScore,      ///< logits of a true token and perhaps a false one
    Unchanged        ///< does nothing when a model is not trained
  };
  Kind kind = Kind::Unchanged;
  std::string name; ///< its folder, or its class where that is the model's
  std::string path; ///< its folder; empty: the model's
  /// Whether it reads and writes a vector for each token (`token_embeddings`),
  /// not for the text (`sentence_embedding`).
  bool readsTokens = false, writesTokens = false;
  std::vector<std::string> pooling; ///< kinds of `attn.pool`
  int64_t in = 0, out = 0;          ///< of Dense and LayerNorm
  bool bias = true, residual = false;
  TorchActivation activation = TorchActivation::Identity; ///< of Dense
  bool sums = false;      ///< SPLADE: the sum, not the largest
  bool logsTwice = false; ///< SPLADE: log(1 + log(1 + max(x, 0)))
};

/// A pipeline, and how its files say that texts are given to it.
struct PipelineConfig {
  std::vector<PipelineModule> modules;
  /// Its entry: `embed`, `sparse`, `token_embeddings` or `rerank`; empty where
  /// the head of the model scores pairs.
  std::string entry;
  /// The Transformer gives logits of the head for masked tokens.
  bool hasLogits = false;
  /// The head whose logits score pairs, as `FamilyHead::kind`; empty: none.
  std::string scoringHead;
  /// Of a cross-encoder: how it reads pairs.
  std::optional<ManifestPairs> pairs;
  /// The ids of the true token of LogitScore and of the false one, if any.
  std::vector<int64_t> scoreTokens;
  std::string activation;     ///< of scores, a class of torch; empty: not said
  bool includesPrompt = true; ///< tokens of the prompt are pooled
  /// By name, in the file's order.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt; ///< a name; empty: none
  std::string similarity;
  int64_t dim = 0;       ///< embeddings are cut to it; 0: they are not
  int64_t maxActive = 0; ///< largest weights of a sparse embedding; 0: all
  std::optional<ManifestTokens> tokens; ///< of the entry `token_embeddings`
  /// Keys in place of those of tokenizer_config.json.
  std::optional<JsonObject> tokenizerArguments;
  /// Why texts are not embedded; empty: the pipeline is run whole.
  std::string refusal;
  std::vector<std::string> files; ///< that were read, in the folder

  /// Sets the reason unless there is one.
  void refuse(const std::string &reason) {
    if (refusal.empty())
      refusal = reason;
  }
  /// Whether the last module scales embeddings to length 1.
  bool endsNormalized() const;
  /// The table of vectors that is there in place of a Transformer, or null.
  const PipelineModule *getStaticEmbedding() const;
};

/// The config of the Transformer of a folder, by one of the names that versions
/// gave it; the first of them where the folder has none.
std::string getTransformerFile(const std::string &folder);

/// The name of the class of the first module of a folder, without those of its
/// Python modules; empty where modules.json is not there or names none.
std::string getFirstModule(const std::string &folder);

/// The arguments of a Transformer in its config, by the name of the key or the
/// one that older versions gave it; nothing where they are null or absent.
std::optional<JsonValue> findTransformerArguments(JsonValue config,
                                                  const char *name,
                                                  const char *oldName);

/// The keys that the Transformer of a folder has in place of those of
/// config.json; nothing without a Transformer or such keys.
Result<std::optional<JsonObject>>
readConfigArguments(const std::string &folder);

/// Reads the pipeline of a folder; nothing without modules.json. `Rejected` for
/// what is malformed, such as a module that reads what no module before it
/// makes.
Result<std::optional<PipelineConfig>>
readPipelineConfig(const std::string &folder);

} // namespace transom
