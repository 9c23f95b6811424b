// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipeline reader, in two sources: files and module order, and the configs for
// module kinds.
#pragma once
#include "compiler/import/huggingface/ChatTemplate.h"
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"
#include "runtime/json/Json.h"

namespace transom {

struct ScoringOptions;

/// Names of values that modules read and write.
inline constexpr const char *tokenFeature = "token_embeddings";
inline constexpr const char *sentenceFeature = "sentence_embedding";
inline constexpr const char *logitFeature = "causal_logits";
inline constexpr const char *scoreFeature = "scores";

using PipelineKind = PipelineModule::Kind;
using PipelineWords = std::vector<std::string>;

/// Returns the value of a key that exists and is not null.
std::optional<JsonValue> findValue(JsonValue config, const char *key);

/// Reads the files in one folder.
class PipelineReader {
public:
  PipelineReader(const std::string &folder, PipelineConfig &result)
      : folder(folder), result(result) {}

  Result<void> read(const JsonDocument &modules);
  /// Creates the pipeline from the options instead of files.
  Result<void> scoring(const ScoringOptions &options);
  Result<void> fillTemplates(const std::string &text,
                             const TemplateVariables &variables,
                             bool isStructured);

  // Module kind configs.
  Result<void> transformer(PipelineModule &module, JsonValue config);
  Result<void> staticEmbedding(PipelineModule &module, JsonValue config);
  Result<void> pooling(PipelineModule &module, JsonValue config);
  Result<void> dense(PipelineModule &module, JsonValue config);
  Result<void> layerNorm(PipelineModule &module, JsonValue config);
  Result<void> features(PipelineModule &module, JsonValue config);
  Result<void> splade(PipelineModule &module, JsonValue config);
  Result<void> tokenMask(PipelineModule &module, JsonValue config);
  Result<void> logitScore(PipelineModule &module, JsonValue config);
  Result<void> unchanged(PipelineModule &, JsonValue) { return {}; }

private:
  Result<std::optional<JsonDocument>> json(const std::string &name);
  Result<void> module(JsonValue entry);
  Result<void> readModule(PipelineModule &module, const std::string &type);
  Result<void> order(const PipelineModule &module, JsonValue entry);
  Result<void> model(JsonValue config);
  Result<void> prompts(JsonValue config);
  /// Reads a Transformer's arguments.
  Result<void> arguments(const JsonDocument &document);
  Result<void> checkArguments(JsonValue arguments, const PipelineWords &known);
  Result<void> checkConfigArguments(JsonValue arguments);
  /// Reads a Transformer's keys that specify its input format.
  Result<void> modalities(JsonValue config, const std::string &output);
  /// Fills in the chat template for a cross-encoder folder.
  Result<void> chatTemplate(JsonValue message, JsonValue config);
  /// Returns the template variables for special tokens.
  Result<void> specialTokens(TemplateVariables &variables,
                             std::vector<JsonDocument> &documents);
  /// Reads late interaction keys from the model or its Transformer.
  Result<void> lateInteraction(JsonValue config);
  Result<void> lengths(JsonValue config);
  Result<void> expansion(JsonValue value);
  ManifestTokens &tokens() {
    if (!result.tokens)
      result.tokens.emplace();
    return *result.tokens;
  }
  void chooseEntry();
  Result<bool> flag(JsonValue config, const char *key, bool absent);
  Result<std::string> text(JsonValue config, const char *key,
                           const std::string &absent);
  /// Refuses a key that is not in any list.
  void checkKeys(JsonValue object, const std::string &file,
                 const PipelineWords &known);
  void refuseValue(JsonValue value, const std::string &supported);

  const std::string &folder;
  PipelineConfig &result;
  bool hasTokens = false, hasSentence = false, isSparse = false;
  bool hasLogits = false, hasScores = false; ///< `causal_logits`, `scores`
  bool ofTokens = false; ///< the model compares texts by their token embeddings
};

/// A module kind, by class name.
struct ModuleKindEntry {
  const char *name;
  PipelineKind kind;
  const char *file; ///< its config, in the module's folder; null: none
  bool needsFile;   ///< the config is required
  Result<void> (PipelineReader::*read)(PipelineModule &, JsonValue);
  PipelineWords keys; ///< keys that are read or have no effect
  /// The class ignores all other keys.
  bool ignoresOthers = false;
};

/// Returns all kinds.
const std::vector<ModuleKindEntry> &getModuleKinds();

} // namespace transom
