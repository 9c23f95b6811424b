// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module kinds: one table contains their classes and config keys, both the keys
// that are read and the keys without effect on results.
#include "compiler/import/huggingface/sentence_transformers/PipelineReader.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"

using namespace transom;

//===----------------------------------------------------------------------===//
// Kinds of modules
//===----------------------------------------------------------------------===//

namespace {

/// A Transformer task, its output and feature name, and the head for it.
struct TransformerTask {
  const char *name, *feature, *output, *head;
};

constexpr TransformerTask transformerTasks[] = {
    {"feature-extraction", tokenFeature, "last_hidden_state", ""},
    {"fill-mask", tokenFeature, "logits", ""},
    {"sequence-classification", scoreFeature, "logits",
     "sequence_classification"},
    {"text-generation", logitFeature, "logits", "causal_lm"}};

} // namespace

Result<void> PipelineReader::transformer(PipelineModule &module,
                                         JsonValue config) {
  module.readsTokens = module.writesTokens = true;
  const std::string absent =
      result.hasLogits ? "fill-mask" : "feature-extraction";
  TRANSOM_ASSIGN(std::string task, text(config, "transformer_task", absent));
  PipelineWords supported;
  const TransformerTask *known = nullptr;
  for (const TransformerTask &each : transformerTasks) {
    supported.emplace_back(each.name);
    if (task == each.name)
      known = &each;
  }
  if (!known) {
    refuseValue(*config.find("transformer_task"), joinNames(supported));
    return {};
  }
  result.hasLogits = task == "fill-mask";
  result.scoringHead = known->head;
  hasTokens = std::string(known->feature) == tokenFeature;
  hasLogits = std::string(known->feature) == logitFeature;
  hasScores = std::string(known->feature) == scoreFeature;
  if (!hasTokens && !result.pairs)
    result.pairs.emplace();

  TRANSOM_ASSIGN(std::string name,
                 text(config, "module_output_name", known->feature));
  if (name != known->feature)
    refuseValue(*config.find("module_output_name"), known->feature);
  TRANSOM_TRY(modalities(config, known->output));
  return lengths(config);
}

/// Reads the token whose logit is a pair's score, and the optional false token.
Result<void> PipelineReader::logitScore(PipelineModule &, JsonValue config) {
  TRANSOM_ASSIGN(JsonValue yes, config.get("true_token_id"));
  TRANSOM_ASSIGN(const int64_t first, yes.asInt(0, INT32_MAX));
  result.scoreTokens = {first};
  if (auto no = findValue(config, "false_token_id")) {
    TRANSOM_ASSIGN(const int64_t second, no->asInt(0, INT32_MAX));
    result.scoreTokens.push_back(second);
  }
  TRANSOM_ASSIGN(std::string name,
                 text(config, "module_input_name", logitFeature));
  if (name != logitFeature)
    refuseValue(*config.find("module_input_name"), logitFeature);
  return {};
}

/// It has no config.
Result<void> PipelineReader::staticEmbedding(PipelineModule &module,
                                             JsonValue) {
  module.readsTokens = true;
  module.pooling = {"mean"};
  return {};
}

/// Returns the `attn.pool` kind for a mode; empty for an unknown mode.
static std::string getPoolKind(std::string_view mode) {
  constexpr std::pair<std::string_view, const char *> modes[] = {
      {"cls", "first_key"},
      {"max", "max"},
      {"mean", "mean"},
      {"mean_sqrt_len_tokens", "mean_sqrt"},
      {"weightedmean", "weighted_mean"},
      {"lasttoken", "last"}};
  for (auto [name, kind] : modes)
    if (mode == name)
      return kind;
  return "";
}

Result<void> PipelineReader::pooling(PipelineModule &module, JsonValue config) {
  module.readsTokens = true;
  TRANSOM_ASSIGN(const bool includes, flag(config, "include_prompt", true));
  if (!includes)
    result.includesPrompt = false;

  // Mode names; older files have a flag for each.
  PipelineWords modes;
  if (auto mode = findValue(config, "pooling_mode")) {
    if (mode->isString()) {
      modes.emplace_back(*mode->asString());
    } else {
      TRANSOM_ASSIGN(modes, mode->asStringArray());
    }
  } else {
    // In the order in which vectors are concatenated.
    constexpr std::pair<const char *, const char *> flags[] = {
        {"pooling_mode_cls_token", "cls"},
        {"pooling_mode_max_tokens", "max"},
        {"pooling_mode_mean_tokens", "mean"},
        {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens"},
        {"pooling_mode_weightedmean_tokens", "weightedmean"},
        {"pooling_mode_lasttoken", "lasttoken"}};
    for (auto [key, mode] : flags) {
      TRANSOM_ASSIGN(const bool isSet, flag(config, key, false));
      if (isSet)
        modes.emplace_back(mode);
    }
    if (modes.empty())
      modes = {"mean"};
  }
  for (const std::string &mode : modes) {
    module.pooling.push_back(getPoolKind(mode));
    if (module.pooling.back().empty())
      return config.find("pooling_mode")
          ->error("unknown pooling mode '" + mode +
                  "'; known: cls, max, mean, mean_sqrt_len_tokens, "
                  "weightedmean, lasttoken");
  }
  if (modes.empty())
    return config.find("pooling_mode")->error("no pooling mode");
  return {};
}

/// Reads which of the two features a module reads and writes.
Result<void> PipelineReader::features(PipelineModule &module,
                                      JsonValue config) {
  const char *absent = module.readsTokens ? tokenFeature : sentenceFeature;
  TRANSOM_ASSIGN(std::string in, text(config, "module_input_name", absent));
  TRANSOM_ASSIGN(std::string out, text(config, "module_output_name", in));
  for (const char *key : {"module_input_name", "module_output_name"})
    if (auto value = findValue(config, key);
        value && *value->asString() != tokenFeature &&
        *value->asString() != sentenceFeature)
      refuseValue(*value, std::string(sentenceFeature) + ", " + tokenFeature);
  module.readsTokens = in == tokenFeature;
  module.writesTokens = out == tokenFeature;
  if (module.readsTokens != module.writesTokens)
    result.refuse(config.where() + ": a module from '" + in + "' to '" + out +
                  "' is not supported; both are the same");
  return {};
}

Result<void> PipelineReader::dense(PipelineModule &module, JsonValue config) {
  TRANSOM_TRY(features(module, config));
  TRANSOM_ASSIGN(JsonValue in, config.get("in_features"));
  TRANSOM_ASSIGN(JsonValue out, config.get("out_features"));
  TRANSOM_ASSIGN(module.in, in.asInt(1, INT32_MAX));
  TRANSOM_ASSIGN(module.out, out.asInt(1, INT32_MAX));
  TRANSOM_ASSIGN(module.bias, flag(config, "bias", true));
  TRANSOM_ASSIGN(module.residual, flag(config, "use_residual", false));

  // Read the activation class, with its torch module.
  TRANSOM_ASSIGN(std::string name, text(config, "activation_function",
                                        "torch.nn.modules.activation.Tanh"));
  const std::optional<TorchActivation> activation =
      name.find('.') == std::string::npos ? std::nullopt
                                          : parseTorchActivation(name);
  if (activation)
    module.activation = *activation;
  else
    refuseValue(*config.find("activation_function"),
                "of torch.nn " + joinNames(getTorchActivationNames()));
  return {};
}

Result<void> PipelineReader::layerNorm(PipelineModule &module,
                                       JsonValue config) {
  TRANSOM_ASSIGN(JsonValue dimension, config.get("dimension"));
  TRANSOM_ASSIGN(module.in, dimension.asInt(1, INT32_MAX));
  module.out = module.in;
  return {};
}

Result<void> PipelineReader::splade(PipelineModule &module, JsonValue config) {
  module.readsTokens = true;
  isSparse = true;
  TRANSOM_ASSIGN(std::string strategy, text(config, "pooling_strategy", "max"));
  TRANSOM_ASSIGN(std::string activation,
                 text(config, "activation_function", "relu"));
  if (strategy != "max" && strategy != "sum")
    return config.find("pooling_strategy")
        ->error("unknown strategy '" + strategy + "'; known: max, sum");
  if (activation != "relu" && activation != "log1p_relu")
    return config.find("activation_function")
        ->error("unknown activation '" + activation +
                "'; known: relu, log1p_relu");
  module.sums = strategy == "sum";
  module.logsTwice = activation == "log1p_relu";
  return {};
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const std::vector<ModuleKindEntry> &transom::getModuleKinds() {
  using R = PipelineReader;
  static const PipelineWords ofTransformer = {
      "max_seq_length",    "do_lower_case",      "transformer_task",
      "modality_config",   "module_output_name", "unpad_inputs",
      "query_length",      "document_length",    "query_expansion",
      "processing_kwargs", "model_args",         "model_kwargs",
      "tokenizer_args",    "processor_kwargs",   "config_args",
      "config_kwargs"};
  static const std::vector<ModuleKindEntry> kinds = {
      {"Transformer", PipelineKind::Transformer, "sentence_bert_config.json",
       false, &R::transformer, ofTransformer},
      {"MLMTransformer", PipelineKind::Transformer, "sentence_bert_config.json",
       false, &R::transformer, ofTransformer},
      {"StaticEmbedding",
       PipelineKind::StaticEmbedding,
       nullptr,
       false,
       &R::staticEmbedding,
       {}},
      {"Pooling",
       PipelineKind::Pooling,
       "config.json",
       true,
       &R::pooling,
       {"word_embedding_dimension", "embedding_dimension", "pooling_mode",
        "pooling_mode_cls_token", "pooling_mode_max_tokens",
        "pooling_mode_mean_tokens", "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken",
        "include_prompt"}},
      {"Dense",
       PipelineKind::Dense,
       "config.json",
       true,
       &R::dense,
       {"in_features", "out_features", "bias", "activation_function",
        "module_input_name", "module_output_name", "use_residual"},
       /*ignoresOthers=*/true},
      {"LayerNorm",
       PipelineKind::LayerNorm,
       "config.json",
       true,
       &R::layerNorm,
       {"dimension"}},
      {"Normalize",
       PipelineKind::Normalize,
       "config.json",
       false,
       &R::features,
       {"module_input_name", "module_output_name"},
       /*ignoresOthers=*/true},
      {"SpladePooling",
       PipelineKind::SpladePooling,
       "config.json",
       false,
       &R::splade,
       {"pooling_strategy", "activation_function", "word_embedding_dimension",
        "embedding_dimension", "chunk_size"}},
      {"Dropout",
       PipelineKind::Unchanged,
       "config.json",
       false,
       &R::unchanged,
       {"dropout"}},
      {"LogitScore",
       PipelineKind::LogitScore,
       "config.json",
       true,
       &R::logitScore,
       {"true_token_id", "false_token_id", "module_input_name"}},
      {"MultiVectorMask",
       PipelineKind::Unchanged,
       "config.json",
       false,
       &R::tokenMask,
       {"skiplist_words", "skiplist_tasks", "keep_only_token_ids"}},
  };
  return kinds;
}
