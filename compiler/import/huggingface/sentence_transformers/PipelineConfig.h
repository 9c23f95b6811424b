// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sentence-transformers pipeline as described by the folder's files:
// modules.json, module configs, sentence_bert_config.json and
// config_sentence_transformers.json. Unsupported settings are not errors, since
// the model without its pipeline can be compiled; they are recorded as the
// reason why text embedding is refused.
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

/// One pipeline module.
struct PipelineModule {
  enum class Kind {
    Transformer,     ///< the base model, or its masked-LM logits
    StaticEmbedding, ///< table with one vector per id; returns their mean
    Pooling,         ///< token vectors to one or several vectors
    Dense,           ///< a projection, an activation, optionally a residual
    LayerNorm,       ///< with weights and biases
    Normalize,       ///< scales to length 1
    SpladePooling,   ///< log(1 + max(x, 0)), then max or sum
    LogitScore,      ///< logits for a true token and optionally a false one
    Unchanged        ///< no effect in inference
  };
  Kind kind = Kind::Unchanged;
  std::string name; ///< its folder, or its class if the folder is the model's
  std::string path; ///< its folder; empty: the model folder
  /// True: reads and writes a vector for each token (`token_embeddings`).
  /// False: for the text (`sentence_embedding`).
  bool readsTokens = false, writesTokens = false;
  std::vector<std::string> pooling; ///< `attn.pool` kinds
  int64_t in = 0, out = 0;          ///< for Dense and LayerNorm
  bool bias = true, residual = false;
  TorchActivation activation = TorchActivation::Identity; ///< for Dense
  bool sums = false;      ///< SPLADE: sum instead of max
  bool logsTwice = false; ///< SPLADE: log(1 + log(1 + max(x, 0)))
};

/// A pipeline, and the text preparation that its files specify.
struct PipelineConfig {
  std::vector<PipelineModule> modules;
  /// Its entry: `embed`, `sparse`, `token_embeddings` or `rerank`; empty if the
  /// model's head scores pairs.
  std::string entry;
  /// The Transformer returns masked-LM logits.
  bool hasLogits = false;
  /// The head whose logits score pairs, as `FamilyHead::kind`; empty: none.
  std::string scoringHead;
  /// For a cross-encoder: pair format.
  std::optional<ManifestPairs> pairs;
  /// LogitScore's true token id, and the false one, if any.
  std::vector<int64_t> scoreTokens;
  std::string activation;     ///< score activation, a torch class, or empty
  bool includesPrompt = true; ///< tokens of the prompt are pooled
  /// By name, in file order.
  std::vector<std::pair<std::string, std::string>> prompts;
  std::string defaultPrompt; ///< prompt name; empty: none
  std::string similarity;
  int64_t dim = 0;       ///< embeddings are truncated to it; 0: they are not
  int64_t maxActive = 0; ///< max weights in a sparse embedding; 0: all
  std::optional<ManifestTokens> tokens; ///< for the entry `token_embeddings`
  /// Keys that override tokenizer_config.json.
  std::optional<JsonObject> tokenizerArguments;
  /// Why text embedding is refused; empty: the complete pipeline is supported.
  std::string refusal;
  std::vector<std::string> files; ///< files read, relative to the folder

  /// Sets the refusal unless there is one.
  void refuse(const std::string &reason) {
    if (refusal.empty())
      refusal = reason;
  }
  /// Returns true if the last module scales embeddings to length 1.
  bool endsNormalized() const;
  /// Returns the embedding table that replaces a Transformer, or null.
  const PipelineModule *getStaticEmbedding() const;
};

/// Returns the config file for a folder's Transformer, by one of the names used
/// by different versions; the first name if the folder has none.
std::string getTransformerFile(const std::string &folder);

/// Returns a folder's first module class, without its Python module path; empty
/// if modules.json is missing or contains none.
std::string getFirstModule(const std::string &folder);

/// Returns a Transformer's arguments from its config, by the key's current or
/// older name; nullopt if absent or null.
std::optional<JsonValue> findTransformerArguments(JsonValue config,
                                                  const char *name,
                                                  const char *oldName);

/// Returns the keys of a folder's Transformer that override config.json;
/// nullopt without a Transformer or such keys.
Result<std::optional<JsonObject>>
readConfigArguments(const std::string &folder);

/// Reads a folder's pipeline; nullopt without modules.json. `Rejected` for
/// malformed pipelines, such as a module that reads a value that no previous
/// module writes.
Result<std::optional<PipelineConfig>>
readPipelineConfig(const std::string &folder);

} // namespace transom
