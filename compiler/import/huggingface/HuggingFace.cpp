// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts config.json to a family entry, checked sizes and a head; then builds
// the encoder or decoder and reports unread keys as notes.
#include "compiler/import/huggingface/HuggingFace.h"
#include "compiler/import/huggingface/Decoder.h"
#include "compiler/import/huggingface/Encoder.h"
#include "compiler/import/huggingface/EncoderDecoder.h"
#include "compiler/import/huggingface/GenerationSettings.h"
#include "compiler/import/huggingface/HuggingFaceImport.h"
#include "compiler/import/huggingface/checkpoints/Adapters.h"
#include "compiler/import/huggingface/checkpoints/PackedTensors.h"
#include "compiler/import/huggingface/checkpoints/PeftAdapter.h"
#include "compiler/import/huggingface/gliner/Gliner.h"
#include "compiler/import/huggingface/sentence_transformers/Pipeline.h"
#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"
#include "runtime/json/JsonParser.h"

using namespace mlir;
using namespace transom;

std::vector<std::string> transom::supportedModelTypes() {
  std::vector<std::string> names;
  for (const ModelFamily &family : modelFamilies())
    names.push_back(family.modelType);
  return names;
}

/// Rejects checkpoints whose tensors differ from the model class.
static void checkCheckpoint(Config &config, const ModelFamily &family,
                            const FamilyHead &head) {
  config.requireFlag({"add_cross_attention"}, false);
  if (family.kind != ModelKind::EncoderDecoder)
    config.requireFlag({"is_encoder_decoder"}, false);
  else if (!head.isBare()) // a bare encoder is always supported
    config.requireFlag({"is_encoder_decoder"}, true);
  config.ignore({"is_encoder_decoder"});
  config.requireAbsent({"pruned_heads"}, "pruned heads are not supported");
}

Result<void> HuggingFaceImport::readQuantization() {
  std::optional<JsonValue> value =
      config.find({"quantization_config", "compression_config"});
  if (!value || config.failed())
    return {};
  TRANSOM_ASSIGN(quantization, readQuantizationConfig(*value));
  info.notes.insert(info.notes.end(), quantization->notes.begin(),
                    quantization->notes.end());
  return {};
}

Result<void> HuggingFaceImport::mergeLora(const AdapterBase &base) {
  if (options.lora.empty())
    return {};
  if (options.configOnly)
    return usageError("'--lora' needs the weights of the model");
  TRANSOM_ASSIGN(std::vector<std::string> notes,
                 mergeAdapter(info.files, options.lora, base));
  info.notes.insert(info.notes.end(), notes.begin(), notes.end());
  for (const char *name : {adapterConfig, adapterWeights})
    info.adapterFiles.emplace_back(adapterPrefix + std::string(name),
                                   joinPath(options.lora, name));
  return {};
}

Result<void> HuggingFaceImport::openFiles(const std::string &family,
                                          const std::string &architecture) {
  if (config.failed())
    return config.takeError();
  info.family = family;
  info.architecture = architecture;
  info.inputFiles = {info.baseFile};
  if (gliner && !gliner->encoder)
    info.inputFiles.push_back("config.json");
  for (const std::string &key : config.unknownKeys()) {
    if (isGenerationKey(key))
      continue;
    info.notes.push_back(key == "auto_map"
                             ? getConfigFile() +
                                   ": 'auto_map' names code of the checkpoint, "
                                   "which is never run"
                             : getConfigFile() + ": key '" + key +
                                   "' is not known and was ignored");
  }
  if (options.configOnly)
    return {};
  if (gguf)
    return openGguf();
  TRANSOM_ASSIGN(ModelFiles files, ModelFiles::openFolder(info.folder));
  info.files = std::move(files);
  if (quantization)
    TRANSOM_TRY(joinPackedTensors(info.files, *quantization));
  if (gliner)
    return addInputFiles();
  TRANSOM_ASSIGN(info.pipeline, readPipelineConfig(info.folder));
  if (!options.scoring.trueToken.empty()) {
    if (info.pipeline)
      return usageError("'--true-token': modules.json says what the model is "
                        "used for");
    TRANSOM_ASSIGN(info.pipeline,
                   makeScoringPipeline(info.folder, options.scoring));
  }
  if (info.pipeline)
    TRANSOM_TRY(addPipelineFiles(info.files, *info.pipeline));
  return addInputFiles();
}

/// Files next to a GGUF file do not belong to its model.
Result<void> HuggingFaceImport::openGguf() {
  if (!options.scoring.trueToken.empty())
    return usageError("'--true-token': a GGUF file has no pipeline");
  info.files = std::move(gguf->files);
  info.texts = std::move(gguf->texts);
  info.tokenizerRefusal = gguf->tokenizerRefusal;
  info.pooling = gguf->pooling;
  info.notes.insert(info.notes.end(), gguf->notes.begin(), gguf->notes.end());
  return {};
}

Result<void> HuggingFaceImport::addInputFiles() {
  info.inputFiles.insert(info.inputFiles.end(), info.files.fileNames().begin(),
                         info.files.fileNames().end());
  return {};
}

bool HuggingFaceImport::hasTensor(const std::string &name) const {
  if (options.configOnly)
    return false;
  if (gguf)
    return gguf->files.find(name);
  Result<ModelFiles> files = ModelFiles::openFolder(info.folder);
  return files && files->find(name);
}

/// Without files, tensors have the type given in the config. Errors in file
/// tensors may be caused by the config.
void HuggingFaceImport::prepare(Emitter &emit) {
  emit.setTensorHelp([this](const TensorProblem &problem) {
    return problem.missingLayer ? config.explainLayer(*problem.missingLayer)
                                : config.explainSizes(problem.sizes);
  });
  if (!options.configOnly)
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
  if (family.kind == ModelKind::Encoder || !options.layers.empty() ||
      (info.pipeline && !info.pipeline->entry.empty()))
    set("position_limit", positionLimit(builder, family, model));
  set("max_length", builder.getI64IntegerAttr(*model.context));
}

void HuggingFaceImport::buildPipelineEntry(Emitter &emit,
                                           const ModelParts &parts,
                                           const ModelFamily &family,
                                           const ModelConfig &model) {
  if (!info.pipeline)
    return;
  PipelineConfig &pipeline = *info.pipeline;
  if (pipeline.hasLogits && std::string(parts.head.kind) != "masked_lm")
    pipeline.refuse("modules.json: the Transformer gives logits of masked "
                    "tokens, but '" +
                    info.architecture + "' has no head for them");
  if (!parts.family.halves.empty() && !parts.family.embedsByEncoder)
    pipeline.refuse("modules.json: embeddings of model_type '" +
                    std::string(parts.family.modelType) +
                    "' are of its decoder, which is not supported");
  const std::string &scoring = pipeline.scoringHead;
  if (!scoring.empty() && scoring != parts.head.kind)
    pipeline.refuse("modules.json: the Transformer scores texts by a head of "
                    "the kind '" +
                    scoring + "', but '" + info.architecture +
                    "' has none of it");
  if (!pipeline.refusal.empty() || pipeline.entry.empty())
    return;
  BlockContext blocks(emit, info.files, family, parts.head, model);
  buildPipeline(blocks, pipeline);
}

void HuggingFaceImport::buildStatesEntry(Emitter &emit, const ModelParts &parts,
                                         const ModelFamily &family,
                                         const ModelConfig &model) {
  if (options.layers.empty())
    return;
  BlockContext blocks(emit, info.files, family, parts.head, model);
  buildHiddenStates(blocks, options.layers);
}

Result<Symbols> HuggingFaceImport::build(Emitter &emit,
                                         const ModelParts &parts) {
  const auto &[family, head, models] = parts;
  const ModelConfig &model = models.front();
  Symbols ofEncoder = {{"batch", -1}, {"seq", model.context.value_or(-1)}};
  Symbols ofStep = {{"keys", -1}, {"rows", -1}, {"wanted", -1}};

  // An encoder or a decoder.
  if (family.halves.empty()) {
    BlockContext blocks(emit, info.files, family, head, model);
    if (family.kind == ModelKind::Encoder) {
      buildEncoder(blocks, head.results);
      buildPipelineEntry(emit, parts, family, model);
      buildStatesEntry(emit, parts, family, model);
      return ofEncoder;
    }
    buildDecoder(blocks);
    buildPipelineEntry(emit, parts, family, model);
    buildStatesEntry(emit, parts, family, model);
    if (!options.layers.empty() ||
        (info.pipeline && info.pipeline->refusal.empty() &&
         !info.pipeline->entry.empty()))
      llvm::append_range(ofStep, ofEncoder);
    return ofStep;
  }

  // An encoder-decoder.
  BlockContext encoder(emit, info.files, family.halves[0], head, model);
  BlockContext decoder(emit, info.files, family.halves[1], head, models[1]);
  if (!head.isBare()) {
    buildEncoderDecoder(encoder, decoder);
    llvm::append_range(ofEncoder, ofStep);
    llvm::append_values(ofEncoder, Symbols::value_type("keys1", -1),
                        Symbols::value_type("rows1", -1));
  } else {
    buildEncoder(encoder, head::bare().results);
  }
  buildPipelineEntry(emit, parts, family.halves[0], model);
  buildStatesEntry(emit, parts, family.halves[0], model);
  return ofEncoder;
}

Result<OwningOpRef<ModuleOp>>
HuggingFaceImport::importFamily(const ModelFamily &family) {
  // Read the complete config before opening any file.
  config.ignore(family.ignoredKeys);
  TRANSOM_ASSIGN(const FamilyHead *head, chooseHead(family));
  checkCheckpoint(config, family, *head);
  TRANSOM_TRY(readQuantization());
  if (!options.scoring.trueToken.empty() &&
      std::string(head->kind) != "causal_lm")
    return unsupported("'--true-token': '" + std::string(family.className) +
                       head->suffix + "' is not a causal language model");
  refuseUnsupportedValues(config, family);
  ArrayRef<ModelFamily> halves(family);
  if (!family.halves.empty())
    halves = family.halves;
  std::vector<ModelConfig> models;
  for (const ModelFamily &half : halves)
    models.push_back(readModelConfig(config, half));
  Result<std::optional<Adapter>> adapter =
      readAdapter(config, halves.front().keys, options.task, info.notes);
  if (!config.failed() && !adapter)
    return adapter.takeError();
  if (adapter)
    models.front().adapter = *adapter;
  Result<void> headInfo = readHeadInfo(family, *head, models.back());
  if (!config.failed() && !headInfo)
    return headInfo.takeError();
  TRANSOM_TRY(openFiles(family.modelType,
                        std::string(family.className) + head->suffix));
  TRANSOM_TRY(mergeLora(getAdapterBase(family, *head, models)));
  if (head->labels || (info.pipeline && info.pipeline->pairs))
    TRANSOM_TRY(readScoreActivation());
  info.generationDefaults = family.generationDefaults;

  // Build the module.
  setLengths(halves.front(), models.front());
  Emitter emit(context, info.files, getConfigFile());
  prepare(emit);
  TRANSOM_ASSIGN(Symbols symbols, build(emit, {family, *head, models}));
  emit.finish(info, symbols, extra);
  return emit.take();
}

Result<OwningOpRef<ModuleOp>>
HuggingFaceImport::importGliner(ModelFamily family) {
  if (family.kind != ModelKind::Encoder)
    return config.root().error("model_type '" + std::string(family.modelType) +
                                   "' as the encoder of a GLiNER model is not "
                                   "supported; supported: encoders",
                               Status::Unsupported);
  family.prefix = glinerPrefix;
  const FamilyHead head = {"Model", "zero_shot_entities", false, {}};

  // Read the encoder's config; a class saved with a head has the head's keys.
  config.ignore(family.ignoredKeys);
  config.ignore({"architectures", "_name_or_path"});
  checkCheckpoint(config, family, head);
  TRANSOM_TRY(readQuantization());
  refuseUnsupportedValues(config, family);
  ModelConfig model = readModelConfig(config, family);
  if (!gliner->encoder && gliner->vocabulary > 0)
    model.vocab = gliner->vocabulary;
  set("head", builder.getStringAttr(head.kind));
  TRANSOM_TRY(openFiles(family.modelType, gliner->isTokenLevel()
                                              ? "UniEncoderTokenGLiNER"
                                              : "UniEncoderSpanGLiNER"));
  info.entities = gliner->entities;

  // Build the module.
  setLengths(family, model);
  Emitter emit(context, info.files, getConfigFile());
  prepare(emit);
  if (gliner->encoder)
    emit.setFile(glinerFile, "/encoder_config");
  BlockContext blocks(emit, info.files, family, head, model);
  buildGlinerEncoder(blocks, *gliner);
  emit.setFile(glinerFile, "");
  buildEntityScores(emit, *gliner);
  emit.finish(info,
              {{"batch", -1},
               {"seq", model.context.value_or(-1)},
               {"types", maxEntityTypes},
               {"words", getMaxWords(*gliner)}},
              extra);
  return emit.take();
}

//===----------------------------------------------------------------------===//
// The config
//===----------------------------------------------------------------------===//

Result<OwningOpRef<ModuleOp>> HuggingFaceImport::run() {
  config.ignore(commonIgnoredKeys());
  std::optional<JsonValue> type = config.find({"model_type"});
  const std::string absent = gliner && gliner->encoder ? "deberta-v2" : "";
  const std::string supported =
      "; supported: " + joinNames(supportedModelTypes());
  if (!type && absent.empty())
    return config.root().error("missing key 'model_type'" + supported);
  TRANSOM_ASSIGN(std::string_view text,
                 type ? type->asString() : std::string_view(absent));
  const std::string name(text);
  if (const ModelFamily *family = findModelFamily(name)) {
    const ModelFamily &chosen =
        chooseVariant(config, *family, [this](const std::string &tensor) {
          return hasTensor(gliner ? glinerPrefix + tensor : tensor);
        });
    return gliner ? importGliner(chosen) : importFamily(chosen);
  }
  return type->error("unsupported model_type '" + name + "'" + supported +
                         suggest(name, supportedModelTypes()),
                     Status::Unsupported);
}

/// Imports a folder with gliner_config.json, whose encoder config is in it or
/// next to it.
static Result<OwningOpRef<ModuleOp>>
importGlinerFolder(MLIRContext &context, const ImportOptions &options,
                   ImportInfo &info) {
  TRANSOM_ASSIGN(
      JsonDocument document,
      parseJsonFile(joinPath(info.folder, glinerFile), JsonNumbers::Python));
  TRANSOM_TRY(document.root().expectObject());
  // Reject options that GLiNER models do not support.
  if (!options.lora.empty())
    return usageError("'--lora' is not supported for a GLiNER model");
  if (!options.task.empty())
    return usageError("'--task " + options.task +
                      "': a GLiNER model has no adapters");
  // Read the GLiNER config.
  Config config(document);
  GlinerConfig gliner = readGlinerConfig(config);
  if (config.failed())
    return config.takeError();
  for (const std::string &key : config.unknownKeys())
    info.notes.push_back(std::string(glinerFile) + ": key '" + key +
                         "' is not known and was ignored");
  // Use the encoder config inside it, or else config.json.
  if (gliner.encoder) {
    Config encoder(document, *gliner.encoder);
    return HuggingFaceImport(context, options, info, encoder, &gliner).run();
  }
  const std::string path = joinPath(info.folder, "config.json");
  if (!fileExists(path))
    return unavailable(path +
                       ": no such file; gliner_config.json has no "
                       "'encoder_config', so add config.json of '" +
                       gliner.encoderName + "'");
  TRANSOM_ASSIGN(JsonDocument beside, parseJsonFile(path, JsonNumbers::Python));
  TRANSOM_TRY(beside.root().expectObject());
  Config encoder(beside);
  return HuggingFaceImport(context, options, info, encoder, &gliner).run();
}

Result<OwningOpRef<ModuleOp>>
transom::importHuggingFace(MLIRContext &context, const ImportOptions &options,
                           ImportInfo &info) {
  if (info.baseFile == glinerFile)
    return importGlinerFolder(context, options, info);
  if (const std::string path = joinPath(info.folder, info.baseFile);
      gguf::isGguf(path)) {
    TRANSOM_ASSIGN(gguf::Model model, gguf::readModel(path));
    Config config(model.config);
    return HuggingFaceImport(context, options, info, config, nullptr, &model)
        .run();
  }
  TRANSOM_ASSIGN(
      JsonDocument document,
      parseJsonFile(joinPath(info.folder, "config.json"), JsonNumbers::Python));
  TRANSOM_TRY(document.root().expectObject());
  Config config(document);
  if (!options.configOnly) {
    TRANSOM_ASSIGN(std::optional<JsonObject> arguments,
                   readConfigArguments(info.folder));
    if (arguments)
      config.override(std::move(*arguments));
  }
  return HuggingFaceImport(context, options, info, config, nullptr).run();
}
