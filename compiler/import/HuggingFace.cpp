// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From config.json to a family's row, checked sizes and a head; then the
// builder runs, and what nobody read becomes notes.
#include "compiler/import/HuggingFace.h"
#include "compiler/import/Encoder.h"
#include "runtime/support/Suggest.h"

using namespace mlir;
using namespace transom;

/// Caps of inputs.md.
static constexpr int64_t maxLayers = 4096;
static constexpr int64_t maxDim = INT32_MAX;

std::vector<std::string> transom::supportedModelTypes() {
  std::vector<std::string> names;
  for (const Family &row : allFamilies())
    names.push_back(row.modelType);
  return names;
}

static Result<const Family *> chooseFamily(Config &config) {
  std::optional<JsonValue> type = config.find({"model_type"});
  const std::string supported =
      "; supported: " + joinNames(supportedModelTypes());
  if (!type)
    return config.root().error("missing key 'model_type'" + supported);
  Result<std::string_view> name = type->asString();
  if (!name)
    return name.takeError();
  if (const Family *family = findFamily(std::string(*name)))
    return family;
  return type->error("unsupported model_type '" + std::string(*name) + "'" +
                         supported,
                     Status::Unsupported);
}

/// The head that `architectures` names; the bare model when it names none.
static Result<const FamilyHead *> chooseHead(Config &config,
                                             const Family &family) {
  std::optional<JsonValue> value = config.find({"architectures"});
  if (!value)
    return &family.heads.front();
  Result<std::vector<std::string>> names = value->asStringArray();
  if (!names)
    return names.takeError();
  if (names->empty())
    return &family.heads.front();
  std::vector<std::string> supported;
  for (const FamilyHead &head : family.heads) {
    supported.push_back(std::string(family.stem) + head.suffix);
    if (names->front() == supported.back())
      return &head;
  }
  return (*value)[0].error("unsupported architecture '" + names->front() +
                               "' of model_type '" + family.modelType +
                               "'; supported: " + joinNames(supported),
                           Status::Unsupported);
}

/// Refuses what the families' attention does not do.
static void checkFeatures(Config &config) {
  config.requireFalse({"is_decoder"});
  config.requireFalse({"add_cross_attention"});
  config.requireFalse({"is_encoder_decoder"});
  config.requireText({"position_embedding_type"}, "absolute");
  config.requireAbsent({"pruned_heads"}, "pruned heads are not built");
  config.requireAbsent({"quantization_config"},
                       "quantized checkpoints are not built; use the one they "
                       "were made from");
}

static void checkSizes(Config &config, const Family &family,
                       ModelSizes &sizes) {
  const FamilyKeys &keys = family.keys;
  if (config.failed())
    return;
  auto errorAt = [&](const ConfigKey &key, const std::string &text) {
    std::optional<JsonValue> value = config.find(key);
    config.fail((value ? *value : config.root()).error(text));
  };
  if (sizes.hidden % sizes.heads)
    return errorAt(keys.heads, "'" + std::string(keys.heads[0]) + "' " +
                                   std::to_string(sizes.heads) +
                                   " does not divide '" + keys.hidden[0] +
                                   "' " + std::to_string(sizes.hidden));
  sizes.maxLength = sizes.positions;
  if (family.positions == PositionRule::NonpadRank)
    sizes.maxLength -= sizes.pad + 1;
  if (sizes.maxLength < 1)
    errorAt(keys.positions, "'" + std::string(keys.positions[0]) + "' " +
                                std::to_string(sizes.positions) +
                                " leaves no position behind the padding id " +
                                std::to_string(sizes.pad));
}

static ModelSizes readSizes(Config &config, const Family &family) {
  const FamilyKeys &keys = family.keys;
  const FamilyDefaults &absent = family.defaults;
  ModelSizes sizes;
  sizes.vocab = config.integer({"vocab_size"}, absent.vocab, 1, maxDim);
  sizes.hidden = config.integer(keys.hidden, absent.hidden, 1, maxDim);
  sizes.layers = config.integer(keys.layers, absent.layers, 0, maxLayers);
  sizes.heads = config.integer(keys.heads, absent.heads, 1, maxDim);
  sizes.intermediate =
      config.integer(keys.intermediate, absent.intermediate, 1, maxDim);
  sizes.positions = config.integer(keys.positions, absent.positions, 1, maxDim);
  if (!keys.types.empty())
    sizes.types = config.integer(keys.types, absent.types, 1, maxDim);
  if (family.positions == PositionRule::NonpadRank)
    sizes.pad = config.integer({"pad_token_id"}, absent.pad, 0, maxDim);
  sizes.epsilon = config.number(keys.epsilon, absent.epsilon);
  sizes.activation = config.activation(keys.activation, absent.activation);
  sizes.tied = config.flag({"tie_word_embeddings"}, true);
  checkSizes(config, family, sizes);
  return sizes;
}

/// Labels and the kind of problem, for heads that have them.
static Result<void> readHeadInfo(Config &config, const FamilyHead &head,
                                 OpBuilder &builder, ModelSizes &sizes,
                                 SmallVectorImpl<NamedAttribute> &info) {
  auto set = [&](StringRef name, Attribute value) {
    info.push_back(builder.getNamedAttr(name, value));
  };
  set("head", builder.getStringAttr(head.kind));
  if (!head.labels)
    return {};
  Result<std::vector<std::string>> labels = readLabels(config);
  if (!labels)
    return labels.takeError();
  sizes.labels = labels->size();
  SmallVector<StringRef> names(labels->begin(), labels->end());
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

static NamedAttribute positionLimit(OpBuilder &builder, const Family &family,
                                    const ModelSizes &sizes) {
  bool ranks = family.positions == PositionRule::NonpadRank;
  NamedAttribute fields[] = {
      builder.getNamedAttr("input", builder.getStringAttr("input_ids")),
      builder.getNamedAttr(
          "rule", builder.getStringAttr(ranks ? "nonpad_rank" : "column")),
      builder.getNamedAttr("pad", builder.getI64IntegerAttr(sizes.pad)),
      builder.getNamedAttr("max", builder.getI64IntegerAttr(sizes.maxLength))};
  return builder.getNamedAttr("position_limit",
                              builder.getDictionaryAttr(fields));
}

static void addNotes(const Config &config, ImportInfo &info) {
  for (const std::string &key : config.unknownKeys())
    info.notes.push_back(key == "auto_map"
                             ? "config.json: 'auto_map' names code of the "
                               "checkpoint, which is never run"
                             : "config.json: key '" + key +
                                   "' is not known and was ignored");
}

Result<OwningOpRef<ModuleOp>> transom::importHuggingFace(MLIRContext &context,
                                                         ImportInfo &info) {
  Result<JsonDocument> document =
      parseJsonFile(joinPath(info.folder, "config.json"));
  if (!document)
    return document.takeError();
  if (Result<void> object = document->root().expectObject(); !object)
    return object.takeError();
  Config config(*document);
  config.ignore(commonIgnoredKeys());
  Result<const Family *> family = chooseFamily(config);
  if (!family)
    return family.takeError();
  config.ignore((*family)->ignoredKeys);
  Result<const FamilyHead *> head = chooseHead(config, **family);
  if (!head)
    return head.takeError();
  checkFeatures(config);
  ModelSizes sizes = readSizes(config, **family);
  OpBuilder builder(&context);
  SmallVector<NamedAttribute> extra;
  Result<void> headInfo = readHeadInfo(config, **head, builder, sizes, extra);
  if (config.failed())
    return config.takeError();
  if (!headInfo)
    return headInfo.takeError();

  Result<ModelFiles> files = ModelFiles::openFolder(info.folder);
  if (!files)
    return files.takeError();
  info.files = std::move(*files);
  info.family = (*family)->modelType;
  info.architecture = std::string((*family)->stem) + (*head)->suffix;
  info.inputFiles = {"config.json"};
  info.inputFiles.insert(info.inputFiles.end(), info.files.fileNames().begin(),
                         info.files.fileNames().end());
  addNotes(config, info);
  extra.push_back(positionLimit(builder, **family, sizes));
  extra.push_back(builder.getNamedAttr(
      "max_length", builder.getI64IntegerAttr(sizes.maxLength)));

  Emitter emit(context, info.files, "config.json");
  EncoderBuilder(emit, info.files, **family, **head, sizes).build();
  emit.finish(info, {{"batch", -1}, {"seq", sizes.maxLength}}, extra);
  return emit.take();
}
