// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The head that a config selects, its labels and score activation.
#include "compiler/import/huggingface/HuggingFaceImport.h"
#include "compiler/import/huggingface/Labels.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/TorchActivation.h"
#include "runtime/base/Utf8.h"

using namespace mlir;
using namespace transom;

/// If the config selects none, an encoder is bare and a decoder has its first
/// head.
Result<const FamilyHead *>
HuggingFaceImport::chooseHead(const ModelFamily &family) {
  const FamilyHead *absent = &family.heads.front();
  std::optional<JsonValue> value = config.find({"architectures"});
  if (!value)
    return absent;
  TRANSOM_ASSIGN(std::vector<std::string> names, value->asStringArray());
  if (names.empty())
    return absent;
  std::vector<std::string> supported;
  std::vector<const char *> classes = family.otherClassNames;
  classes.insert(classes.begin(), family.className);
  for (const char *name : classes)
    for (const FamilyHead &head : family.heads) {
      supported.push_back(std::string(name) + head.suffix);
      if (names.front() == supported.back())
        return &head;
    }
  return (*value)[0].error("unsupported architecture '" + names.front() +
                               "' of model_type '" + family.modelType +
                               "'; supported: " + joinNames(supported) +
                               suggest(names.front(), supported),
                           Status::Unsupported);
}

/// Rejects a label count that the head's class does not support.
static Result<void> checkLabelCount(Config &config, const FamilyHead &head,
                                    int64_t count) {
  if (count == head.labelCount)
    return {};
  std::optional<JsonValue> named = config.find({"id2label", "num_labels"});
  return (named ? *named : config.root())
      .error(std::to_string(count) + " labels of a head '" +
                 std::string(head.suffix) +
                 "'; supported: " + std::to_string(head.labelCount),
             Status::Unsupported);
}

/// Returns the class path for the activation specified in files; empty without
/// one. Pipeline settings take precedence over model settings, and
/// `sentence_transformers` over the older key.
Result<std::string> HuggingFaceImport::findScoreActivation() {
  if (info.pipeline && !info.pipeline->activation.empty())
    return info.pipeline->activation;
  std::optional<JsonValue> name =
      config.find({"sbert_ce_default_activation_function"});
  if (auto settings = config.find({"sentence_transformers"}))
    if (auto given = settings->find("activation_fn"))
      name = given;
  if (!name || name->isNull())
    return std::string();
  TRANSOM_ASSIGN(std::string_view path, name->asString());
  return std::string(path);
}

/// Reads the function that sentence-transformers' cross-encoders apply to a
/// pair's logit: a torch class, by default the sigmoid.
Result<void> HuggingFaceImport::readScoreActivation() {
  TRANSOM_ASSIGN(const std::string path, findScoreActivation());
  if (path.empty())
    return {};
  if (path.rfind("torch.", 0) != 0) {
    info.notes.push_back("the activation of scores '" + utf8::printable(path) +
                         "' is code of the checkpoint, which is never run; "
                         "scores have the default, the sigmoid");
    return {};
  }
  std::string activation = path;
  if (const std::optional<TorchActivation> kind = parseTorchActivation(path))
    activation = getTorchActivationName(*kind);
  if (activation == "Sigmoid" || activation == "Identity")
    activation = activation == "Sigmoid" ? "sigmoid" : "identity";
  set("score_activation", builder.getStringAttr(activation));
  return {};
}

/// Returns the config class default.
static std::optional<int64_t> getClassToken(const ModelFamily &family) {
  if (family.halves.empty())
    return family.defaults.padToken;
  for (const GenerationDefault &token : family.generationDefaults)
    if (std::string(token.key) == "eos_token_id")
      return token.value;
  return std::nullopt;
}

/// Reads the token from config.json as the classes do, independent of
/// generation_config.json. A list with one element is the element.
Result<std::optional<int64_t>>
HuggingFaceImport::readClassToken(const ModelFamily &family) {
  if (family.kind == ModelKind::Encoder)
    return std::optional<int64_t>();
  const ConfigKey key = {family.halves.empty() ? "pad_token_id"
                                               : "eos_token_id"};
  std::optional<JsonValue> value = config.find(key);
  if (!value)
    return config.isNull(key) ? std::nullopt : getClassToken(family);
  if (value->isArray() && value->size() == 1)
    value = (*value)[0];
  TRANSOM_ASSIGN(const int64_t token, value->asInt());
  return std::optional(token);
}

/// Reads labels and problem type, for heads that have them.
Result<void> HuggingFaceImport::readHeadInfo(const ModelFamily &family,
                                             const FamilyHead &head,
                                             ModelConfig &model) {
  set("head", builder.getStringAttr(head.kind));
  if (!head.labels && !head.fixedLabels)
    return {};
  TRANSOM_ASSIGN(std::vector<std::string> labels,
                 readLabels(config, head.labelCount, info.notes));
  model.labels = int64_t(labels.size());
  if (head.fixedLabels)
    return checkLabelCount(config, head, model.labels);
  TRANSOM_ASSIGN(model.classToken, readClassToken(family));
  SmallVector<StringRef> names(labels.begin(), labels.end());
  set("labels", builder.getStrArrayAttr(names));
  std::string problem = config.text({"problem_type"}, "");
  if (problem.empty())
    return {};
  if (problem != "regression" && problem != "single_label_classification" &&
      problem != "multi_label_classification")
    return config.find({"problem_type"})
        ->error("unknown problem_type '" + problem +
                "'; known: regression, single_label_classification, "
                "multi_label_classification");
  set("problem_type", builder.getStringAttr(problem));
  return {};
}
