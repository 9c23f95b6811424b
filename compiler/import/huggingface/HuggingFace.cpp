// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From config.json to a family's entry, checked sizes and a head; then the
// driver of encoders or decoders runs, and keys that nobody read become notes.
#include "compiler/import/huggingface/HuggingFace.h"
#include "compiler/import/huggingface/Decoder.h"
#include "compiler/import/huggingface/Encoder.h"
#include "compiler/import/huggingface/GenerationSettings.h"
#include "compiler/import/huggingface/HeadSteps.h"
#include "runtime/base/Suggest.h"

using namespace mlir;
using namespace transom;

std::vector<std::string> transom::supportedModelTypes() {
  std::vector<std::string> names;
  for (const ModelFamily &family : modelFamilies())
    names.push_back(family.modelType);
  return names;
}

namespace {

/// One import of a config.json.
class HuggingFaceImport {
public:
  HuggingFaceImport(MLIRContext &context, ImportInfo &info, Config &config,
                    bool configOnly)
      : info(info), config(config), configOnly(configOnly), builder(&context),
        context(context) {}
  Result<OwningOpRef<ModuleOp>> run();

private:
  Result<OwningOpRef<ModuleOp>> importFamily(const ModelFamily &family);
  /// The head that `architectures` names by stem + suffix.
  Result<const FamilyHead *> chooseHead(const ModelFamily &family);
  Result<void> readHeadInfo(const FamilyHead &head, int64_t &labels);
  /// The config's errors, then the files; names in `info`.
  Result<void> openFiles(const std::string &family,
                         const std::string &architecture);
  void prepare(Emitter &emit);
  /// What the manifest says of the lengths of an encoder's texts.
  void setLengths(const ModelFamily &family, const ModelConfig &model);
  void set(StringRef name, Attribute value) {
    extra.push_back(builder.getNamedAttr(name, value));
  }

  ImportInfo &info;
  Config &config;
  bool configOnly;
  OpBuilder builder;
  MLIRContext &context;
  SmallVector<NamedAttribute> extra; // of `attn.info`
};

} // namespace

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// Where the config names none, an encoder is bare and a decoder has its first
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
  for (const FamilyHead &head : family.heads) {
    supported.push_back(std::string(family.className) + head.suffix);
    if (names.front() == supported.back())
      return &head;
  }
  return (*value)[0].error("unsupported architecture '" + names.front() +
                               "' of model_type '" + family.modelType +
                               "'; supported: " + joinNames(supported),
                           Status::Unsupported);
}

/// Labels and the kind of problem, for heads that have them.
Result<void> HuggingFaceImport::readHeadInfo(const FamilyHead &head,
                                             int64_t &count) {
  set("head", builder.getStringAttr(head.kind));
  if (!head.labels)
    return {};
  TRANSOM_ASSIGN(std::vector<std::string> labels, readLabels(config));
  count = labels.size();
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

/// Refuses checkpoints whose tensors are not what the class of the model has.
static void checkCheckpoint(Config &config, const ModelFamily &family,
                            const FamilyHead &head) {
  config.requireFlag({"add_cross_attention"}, false);
  if (family.kind != ModelKind::EncoderDecoder)
    config.requireFlag({"is_encoder_decoder"}, false);
  else if (!head.isBare()) // the encoder of a bare model is built in any case
    config.requireFlag({"is_encoder_decoder"}, true);
  config.ignore({"is_encoder_decoder"});
  config.requireAbsent({"pruned_heads"}, "pruned heads are not supported");
  config.requireAbsent({"quantization_config"},
                       "quantized checkpoints are not supported; use the one "
                       "they were made from");
}

Result<void> HuggingFaceImport::openFiles(const std::string &family,
                                          const std::string &architecture) {
  if (config.failed())
    return config.takeError();
  info.family = family;
  info.architecture = architecture;
  info.inputFiles = {"config.json"};
  for (const std::string &key : config.unknownKeys()) {
    if (isGenerationKey(key))
      continue;
    info.notes.push_back(key == "auto_map"
                             ? "config.json: 'auto_map' names code of the "
                               "checkpoint, which is never run"
                             : "config.json: key '" + key +
                                   "' is not known and was ignored");
  }
  if (configOnly)
    return {};
  TRANSOM_ASSIGN(ModelFiles files, ModelFiles::openFolder(info.folder));
  info.files = std::move(files);
  info.inputFiles.insert(info.inputFiles.end(), info.files.fileNames().begin(),
                         info.files.fileNames().end());
  return {};
}

/// Without files, tensors are of the type that the config names.
void HuggingFaceImport::prepare(Emitter &emit) {
  if (!configOnly)
    return;
  std::string dtype = config.text({"dtype", "torch_dtype"}, "float32");
  emit.assumeTensors(dtype == "bfloat16"  ? "BF16"
                     : dtype == "float16" ? "F16"
                                          : "F32");
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

static Attribute positionLimit(OpBuilder &builder, const ModelFamily &family,
                               const ModelConfig &model) {
  bool ranks = family.positionIndex == PositionIndex::NonpadRank;
  NamedAttribute fields[] = {
      builder.getNamedAttr("input", builder.getStringAttr("input_ids")),
      builder.getNamedAttr(
          "rule", builder.getStringAttr(ranks ? "nonpad_rank" : "column")),
      builder.getNamedAttr("pad", builder.getI64IntegerAttr(model.pad)),
      builder.getNamedAttr("max", builder.getI64IntegerAttr(*model.context))};
  return builder.getDictionaryAttr(fields);
}

void HuggingFaceImport::setLengths(const ModelFamily &family,
                                   const ModelConfig &model) {
  if (!model.context)
    return;
  if (family.kind == ModelKind::Encoder)
    set("position_limit", positionLimit(builder, family, model));
  set("max_length", builder.getI64IntegerAttr(*model.context));
}

Result<OwningOpRef<ModuleOp>>
HuggingFaceImport::importFamily(const ModelFamily &family) {
  // The config, all of it, before any file is opened.
  config.ignore(family.ignoredKeys);
  TRANSOM_ASSIGN(const FamilyHead *head, chooseHead(family));
  checkCheckpoint(config, family, *head);
  refuseUnsupportedValues(config, family);
  bool whole = family.halves.empty();
  ArrayRef<ModelFamily> halves(family);
  if (!whole)
    halves = family.halves;
  std::vector<ModelConfig> models;
  for (const ModelFamily &half : halves)
    models.push_back(readModelConfig(config, half));
  Result<void> headInfo = readHeadInfo(*head, models.back().labels);
  if (!config.failed() && !headInfo)
    return headInfo.takeError();
  TRANSOM_TRY(openFiles(family.modelType,
                        std::string(family.className) + head->suffix));

  // The module.
  setLengths(halves.front(), models.front());
  Emitter emit(context, info.files, "config.json");
  prepare(emit);
  BlockContext blocks(emit, info.files, halves.front(), *head, models.front());
  if (halves.front().kind == ModelKind::Encoder) {
    if (!whole && !head->isBare())
      info.notes.push_back("config.json: only the encoder of '" +
                           info.architecture +
                           "' is compiled, as entry 'encode'");
    buildEncoder(blocks, whole ? head->results : head::bare().results);
    emit.finish(info,
                {{"batch", -1}, {"seq", models.front().context.value_or(-1)}},
                extra);
  } else {
    buildDecoder(blocks);
    emit.finish(info, {{"keys", -1}, {"rows", -1}, {"wanted", -1}}, extra);
  }
  return emit.take();
}

//===----------------------------------------------------------------------===//
// The config
//===----------------------------------------------------------------------===//

Result<OwningOpRef<ModuleOp>> HuggingFaceImport::run() {
  config.ignore(commonIgnoredKeys());
  std::optional<JsonValue> type = config.find({"model_type"});
  const std::string supported =
      "; supported: " + joinNames(supportedModelTypes());
  if (!type)
    return config.root().error("missing key 'model_type'" + supported);
  TRANSOM_ASSIGN(std::string_view text, type->asString());
  const std::string name(text);
  if (const ModelFamily *family = findModelFamily(name))
    return importFamily(*family);
  return type->error("unsupported model_type '" + name + "'" + supported,
                     Status::Unsupported);
}

Result<OwningOpRef<ModuleOp>> transom::importHuggingFace(MLIRContext &context,
                                                         ImportInfo &info,
                                                         bool configOnly) {
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJsonFile(joinPath(info.folder, "config.json")));
  TRANSOM_TRY(document.root().expectObject());
  Config config(document);
  return HuggingFaceImport(context, info, config, configOnly).run();
}
