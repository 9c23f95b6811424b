// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From config.json to a family's row, checked sizes and a head; then the
// builder runs, and what nobody read becomes notes.
#include "compiler/import/huggingface/HuggingFace.h"
#include "compiler/import/huggingface/Decoder.h"
#include "compiler/import/huggingface/Encoder.h"
#include "runtime/base/Suggest.h"

using namespace mlir;
using namespace transom;

std::vector<std::string> transom::supportedModelTypes() {
  std::vector<std::string> names;
  for (const Family &row : allFamilies())
    names.push_back(row.modelType);
  for (const DecoderFamily &row : decoderFamilies())
    names.push_back(row.modelType);
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

using Symbols = std::vector<std::pair<std::string, int64_t>>;

/// One import of a config.json.
class HuggingFaceImport {
public:
  HuggingFaceImport(MLIRContext &context, ImportInfo &info, Config &config,
                    bool configOnly)
      : info(info), config(config), configOnly(configOnly), builder(&context),
        context(context) {}
  Result<OwningOpRef<ModuleOp>> run();

private:
  Result<OwningOpRef<ModuleOp>> encoder(const Family &family);
  Result<OwningOpRef<ModuleOp>> decoder(const DecoderFamily &family);
  /// The head that `architectures` names by stem + suffix, `absent` when it
  /// names none.
  Result<size_t> chooseHead(const std::string &modelType,
                            const std::string &stem,
                            const std::vector<std::string> &suffixes,
                            size_t absent);
  Result<void> readHeadInfo(const char *kind, bool hasLabels, int64_t &labels);
  /// The config's errors, then the files; names in `info`.
  Result<void> openFiles(const std::string &family,
                         const std::string &architecture);
  void prepare(Emitter &emit);
  Result<OwningOpRef<ModuleOp>> finish(Emitter &emit, const Symbols &symbols);
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
// What all families share
//===----------------------------------------------------------------------===//

Result<size_t> HuggingFaceImport::chooseHead(
    const std::string &modelType, const std::string &stem,
    const std::vector<std::string> &suffixes, size_t absent) {
  std::optional<JsonValue> value = config.find({"architectures"});
  if (!value)
    return absent;
  TRANSOM_ASSIGN(std::vector<std::string> names, value->asStringArray());
  if (names.empty())
    return absent;
  std::vector<std::string> supported;
  for (const std::string &suffix : suffixes) {
    supported.push_back(stem + suffix);
    if (names.front() == supported.back())
      return supported.size() - 1;
  }
  return (*value)[0].error("unsupported architecture '" + names.front() +
                               "' of model_type '" + modelType +
                               "'; supported: " + joinNames(supported),
                           Status::Unsupported);
}

/// Labels and the kind of problem, for heads that have them.
Result<void> HuggingFaceImport::readHeadInfo(const char *kind, bool hasLabels,
                                             int64_t &count) {
  set("head", builder.getStringAttr(kind));
  if (!hasLabels)
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
static void checkCheckpoint(Config &config) {
  config.requireFalse({"add_cross_attention"});
  config.requireFalse({"is_encoder_decoder"});
  config.requireAbsent({"pruned_heads"}, "pruned heads are not built");
  config.requireAbsent({"quantization_config"},
                       "quantized checkpoints are not built; use the one they "
                       "were made from");
}

Result<void> HuggingFaceImport::openFiles(const std::string &family,
                                          const std::string &architecture) {
  if (config.failed())
    return config.takeError();
  info.family = family;
  info.architecture = architecture;
  info.inputFiles = {"config.json"};
  for (const std::string &key : config.unknownKeys())
    info.notes.push_back(key == "auto_map"
                             ? "config.json: 'auto_map' names code of the "
                               "checkpoint, which is never run"
                             : "config.json: key '" + key +
                                   "' is not known and was ignored");
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

Result<OwningOpRef<ModuleOp>>
HuggingFaceImport::finish(Emitter &emit, const Symbols &symbols) {
  emit.finish(info, symbols, extra);
  return emit.take();
}

//===----------------------------------------------------------------------===//
// Encoders
//===----------------------------------------------------------------------===//

static Attribute positionLimit(OpBuilder &builder, const Family &family,
                               const ModelSizes &sizes) {
  bool ranks = family.positions == PositionRule::NonpadRank;
  NamedAttribute fields[] = {
      builder.getNamedAttr("input", builder.getStringAttr("input_ids")),
      builder.getNamedAttr(
          "rule", builder.getStringAttr(ranks ? "nonpad_rank" : "column")),
      builder.getNamedAttr("pad", builder.getI64IntegerAttr(sizes.pad)),
      builder.getNamedAttr("max", builder.getI64IntegerAttr(sizes.maxLength))};
  return builder.getDictionaryAttr(fields);
}

Result<OwningOpRef<ModuleOp>> HuggingFaceImport::encoder(const Family &family) {
  config.ignore(family.ignoredKeys);
  std::vector<std::string> suffixes;
  for (const FamilyHead &head : family.heads)
    suffixes.push_back(head.suffix);
  TRANSOM_ASSIGN(size_t chosen,
                 chooseHead(family.modelType, family.stem, suffixes, 0));
  const FamilyHead &head = family.heads[chosen];
  ModelSizes sizes = readEncoder(config, family);
  Result<void> headInfo = readHeadInfo(head.kind, head.labels, sizes.labels);
  if (!config.failed() && !headInfo)
    return headInfo.takeError();
  TRANSOM_TRY(
      openFiles(family.modelType, std::string(family.stem) + head.suffix));
  set("position_limit", positionLimit(builder, family, sizes));
  set("max_length", builder.getI64IntegerAttr(sizes.maxLength));
  Emitter emit(context, info.files, "config.json");
  prepare(emit);
  EncoderBuilder(emit, info.files, family, head, sizes).build();
  return finish(emit, {{"batch", -1}, {"seq", sizes.maxLength}});
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

Result<OwningOpRef<ModuleOp>>
HuggingFaceImport::decoder(const DecoderFamily &family) {
  config.ignore(family.ignoredKeys);
  config.ignore({"is_decoder"});
  config.requireFalse({"use_bidirectional_attention"});
  config.requireFalse({"use_mrope"});
  const std::vector<DecoderHead> heads = headsOf(family);
  std::vector<std::string> suffixes;
  for (const DecoderHead &head : heads)
    suffixes.push_back(head.suffix);
  TRANSOM_ASSIGN(size_t chosen,
                 chooseHead(family.modelType, family.stem, suffixes, 0));
  const DecoderHead &head = heads[chosen];
  DecoderModel model = readDecoder(config, family);
  bool labels = std::string(head.kind) == "sequence_classification";
  Result<void> headInfo = readHeadInfo(head.kind, labels, model.labels);
  if (!config.failed() && !headInfo)
    return headInfo.takeError();
  TRANSOM_TRY(
      openFiles(family.modelType, std::string(family.stem) + head.suffix));
  if (model.context)
    set("max_length", builder.getI64IntegerAttr(*model.context));
  Emitter emit(context, info.files, "config.json");
  prepare(emit);
  DecoderBuilder(emit, info.files, family, head, model).build();
  return finish(emit, {{"keys", -1}, {"rows", -1}, {"wanted", -1}});
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
  checkCheckpoint(config);
  if (const Family *family = findFamily(name))
    return encoder(*family);
  if (const DecoderFamily *family = findDecoderFamily(name))
    return decoder(*family);
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
