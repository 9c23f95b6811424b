// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a model folder or graph.json: imports it, runs the stages, and adds
// facts from the model files to the manifest.
#include "compiler/driver/Compile.h"
#include "compiler/calibrate/BalanceColumns.h"
#include "compiler/calibrate/Calibrate.h"
#include "compiler/driver/CompileModule.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/driver/PassMonitor.h"
#include "compiler/driver/PassPlugins.h"
#include "compiler/import/Import.h"
#include "compiler/import/ListedLogits.h"
#include "compiler/import/huggingface/GenerationSettings.h"
#include "compiler/import/huggingface/TextConfig.h"
#include "compiler/options/ModuleOptions.h"
#include "compiler/stages/Hashes.h"
#include "compiler/stages/Resume.h"
#include "compiler/statistics/ModelFormulas.h"
#include "dialects/common/Attributes.h"
#include "runtime/base/Utf8.h"
#include <chrono>

using namespace mlir;
using namespace transom;

/// Memory for a compile in addition to weights: compiler code, IR, LLVM.
static constexpr uint64_t baseBytes = uint64_t(256) << 20;

/// Rejects a compile that would exceed the memory limit.
static Result<void> checkMemory(const ImportInfo &info, uint64_t limit) {
  if (limit == 0)
    return {};
  uint64_t largest = 0;
  for (const SafetensorsFile &file : info.files.files())
    for (const SafetensorsTensor &tensor : file.tensors())
      largest = std::max(largest, tensor.end - tensor.begin);
  const uint64_t needed = baseBytes + 2 * largest;
  if (needed <= limit)
    return {};
  return limitError("the compile takes up to " + std::to_string(needed) +
                    " bytes, over '--mem-limit' of " + std::to_string(limit));
}

/// Returns the model's max input length: `max_length` in its `attn.info`, 0 if
/// absent.
static int64_t getMaxLength(ModuleOp module) {
  auto info = module->getAttrOfType<DictionaryAttr>("attn.info");
  auto length = info ? info.getAs<IntegerAttr>("max_length") : IntegerAttr();
  return length ? length.getInt() : 0;
}

/// Formats integers as `0,2,3`.
static std::string joinNumbers(const std::vector<int64_t> &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// Returns the compile options that change the result, for the manifest.
static std::vector<std::pair<std::string, std::string>>
recordedFlags(const CompileOptions &options) {
  std::vector<std::pair<std::string, std::string>> flags = options.flags;
  // Targets and types; defaults are not recorded.
  std::string targets;
  for (const std::string &target : options.targets)
    targets += (targets.empty() ? "" : ",") + target;
  if (!targets.empty())
    flags.emplace_back("target", targets);
  if (options.backend != "native")
    flags.emplace_back("backend", options.backend);
  if (options.dtype != "f32")
    flags.emplace_back("dtype", options.dtype);
  if (!options.kvDtype.empty() && options.kvDtype != options.dtype)
    flags.emplace_back("kv-dtype", options.kvDtype);
  if (!options.quantize.empty())
    flags.emplace_back("quantize", options.quantize);
  if (!options.quantizeHead.empty())
    flags.emplace_back("quantize-head", options.quantizeHead);
  if (!options.quantizeEmbeddings.empty())
    flags.emplace_back("quantize-embeddings", options.quantizeEmbeddings);
  if (!options.activations.empty())
    flags.emplace_back("activations", options.activations);
  if (options.groupSize != 0)
    flags.emplace_back("group-size", std::to_string(options.groupSize));
  if (!options.calibrate.empty())
    flags.emplace_back("calibrate", getFileName(options.calibrate));
  if (options.attentionSchedule != "auto")
    flags.emplace_back("attention-schedule", options.attentionSchedule);
  // Entries, adapters and scoring.
  if (options.attention)
    flags.emplace_back("attention", "true");
  if (!options.attentionLayers.empty())
    flags.emplace_back("attention-layers",
                       joinNumbers(options.attentionLayers));
  if (!options.attentionHeads.empty())
    flags.emplace_back("attention-heads", joinNumbers(options.attentionHeads));
  if (!options.task.empty())
    flags.emplace_back("task", options.task);
  if (!options.lora.empty())
    flags.emplace_back("lora", options.lora);
  if (!options.scoring.trueToken.empty())
    flags.emplace_back("true-token", options.scoring.trueToken);
  if (!options.scoring.falseToken.empty())
    flags.emplace_back("false-token", options.scoring.falseToken);
  if (!options.scoring.chatTemplate.empty())
    flags.emplace_back("chat-template", options.scoring.chatTemplate);
  if (!options.shortlist.file.empty()) {
    flags.emplace_back("shortlist", getFileName(options.shortlist.file));
    flags.emplace_back("shortlist-first",
                       std::to_string(options.shortlist.first));
    flags.emplace_back("shortlist-best",
                       std::to_string(options.shortlist.best));
  }
  if (!options.layers.empty())
    flags.emplace_back("layers", joinNumbers(options.layers));
  if (options.ignoreGenerationConfig)
    flags.emplace_back("ignore-generation-config", "true");
  if (options.debugInfo)
    flags.emplace_back("debug-info", "true");
  if (options.optLevel != 2)
    flags.emplace_back("opt-level", std::to_string(options.optLevel));
  return flags;
}

namespace {

/// Facts from the model files that the artifact needs.
struct ModelFacts {
  ImportInfo info;
  TextConfig text;
  GenerationSettings generation; ///< for a decoder
  InputHashes hashes;
  std::optional<FileHashes> hashed;
  std::vector<std::string> notes;
  Importance importance;
  BalancedColumns balanced;
  std::string figures; ///< JSON, for the manifest

  Result<void> read(ModuleOp module, const CompileOptions &options);
  /// Returns all file hashes; waits until they are computed.
  Result<const FileHashes *> getHashes();
  Result<void> complete(ArtifactPlan &plan, const ResumedStage *resumed);
};

} // namespace

/// Adds a note about tensors in the files that the model does not use.
static void noteUnusedTensors(const ImportInfo &info,
                              std::vector<std::string> &notes) {
  constexpr size_t shown = 3;
  const std::vector<std::string> &unused = info.unusedTensors;
  if (unused.empty())
    return;
  std::string text = std::to_string(unused.size()) +
                     (unused.size() == 1 ? " tensor is" : " tensors are") +
                     " not used: ";
  for (size_t i = 0; i < std::min(shown, unused.size()); ++i)
    text += (i ? ", '" : "'") + utf8::printable(unused[i], 80) + "'";
  notes.push_back(text + (unused.size() > shown ? ", ..." : ""));
}

/// Returns the logit count per token in a decoder's step, if it is known.
static std::optional<int64_t> getVocabularySize(func::FuncOp step) {
  return getInteger(step->getDiscardableAttrDictionary(), "transom.vocabulary");
}

/// Returns the limits that a decoder's generation settings must respect.
static GenerationModel getGenerationModel(ModuleOp module, func::FuncOp step) {
  GenerationModel model;
  model.vocabulary = getVocabularySize(step);
  model.hasSource =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp entry) {
        return entry->hasAttr("transom.encoder");
      });
  return model;
}

/// Returns the token id ranges for the model's inputs.
static ModelVocabulary getVocabulary(ModuleOp module) {
  ModelVocabulary vocabulary;
  func::FuncOp step = getStepEntry(module);
  if (auto size = step ? getVocabularySize(step) : std::nullopt)
    vocabulary.source = vocabulary.target = *size;
  for (func::FuncOp entry : module.getOps<func::FuncOp>())
    for (unsigned i = 0; entry != step && i < entry.getNumArguments(); ++i) {
      auto name = entry.getArgAttrOfType<StringAttr>(i, "attn.name");
      auto bound = entry.getArgAttrOfType<IntegerAttr>(i, "attn.bound");
      if (name && bound && name.getValue() == "input_ids")
        vocabulary.source = bound.getInt();
    }
  return vocabulary;
}

/// Adds a lexical shortlist to a translator's tokenizer.
static Result<void> addShortlist(ModuleOp module,
                                 const ShortlistOptions &options,
                                 TextConfig &text) {
  if (options.file.empty())
    return {};
  func::FuncOp step = getStepEntry(module);
  if (!step || !getGenerationModel(module, step).hasSource)
    return unsupported("'--shortlist' is not supported for this model; "
                       "supported: encoder-decoders that generate");
  if (text.tokenizer.empty())
    return unsupported("'--shortlist' needs the model's tokenizer, and it has "
                       "none that can be read");
  return addShortlist(options, getVocabulary(module), text.tokenizer);
}

/// Reads the text files and a decoder's settings, and starts hashing all files.
Result<void> ModelFacts::read(ModuleOp module, const CompileOptions &options) {
  const SmallFiles small = info.getSmallFiles();
  TRANSOM_ASSIGN(TextConfig config,
                 readTextConfig(small, getMaxLength(module),
                                info.family != "graph", getVocabulary(module),
                                info.pipeline ? &*info.pipeline : nullptr,
                                info.entities ? &*info.entities : nullptr));
  text = std::move(config);
  TRANSOM_TRY(addShortlist(module, options.shortlist, text));
  if (!info.tokenizerRefusal.empty())
    text.manifest.tokenizerRefusal = info.tokenizerRefusal;
  if (!info.pooling.empty())
    text.manifest.pooling = info.pooling;
  notes = info.notes;
  noteUnusedTensors(info, notes);
  notes.insert(notes.end(), text.notes.begin(), text.notes.end());
  std::vector<std::string> files = info.inputFiles;
  if (small.areInFolder())
    files.insert(files.end(), text.files.begin(), text.files.end());
  if (func::FuncOp step = getStepEntry(module)) {
    TRANSOM_ASSIGN(GenerationSettings settings,
                   readGenerationSettings(small, options.ignoreGenerationConfig,
                                          info.generationDefaults,
                                          getGenerationModel(module, step)));
    generation = std::move(settings);
    notes.insert(notes.end(), generation.notes.begin(), generation.notes.end());
    if (small.areInFolder())
      files.insert(files.end(), generation.files.begin(),
                   generation.files.end());
  }
  // Only artifacts and stage indices contain hashes.
  if (options.emit == Stage::So || !options.stagesFolder.empty())
    hashes.start(info.folder, files, info.adapterFiles);
  // Only the weight writer uses the importance.
  if (options.emit == Stage::So && !options.calibrate.empty()) {
    TRANSOM_ASSIGN(importance,
                   calibrate(module, info, text.tokenizer,
                             text.manifest.maxLength, options.calibrate));
    balanced = balanceColumns(module, importance);
  }
  if (options.emit == Stage::So)
    figures = reportFigures(module, info).toJson();
  return {};
}

Result<const FileHashes *> ModelFacts::getHashes() {
  if (!hashed) {
    TRANSOM_ASSIGN(hashed, hashes.take());
  }
  return &*hashed;
}

Result<void> ModelFacts::complete(ArtifactPlan &plan,
                                  const ResumedStage *resumed) {
  TRANSOM_ASSIGN(const FileHashes *inputs, getHashes());
  plan.manifest.inputsSha256 = *inputs;
  // An artifact records the stage it was compiled from, if that was edited.
  if (resumed)
    if (std::optional<std::string> edited = resumed->describe(*inputs))
      plan.manifest.options.emplace_back("resume-from", *edited);
  plan.manifest.text = text.manifest;
  plan.manifest.notes = notes;
  plan.importance = std::move(importance);
  plan.manifest.figures = std::move(figures);
  plan.tokenizer = std::move(text.tokenizer);
  if (plan.manifest.decoder)
    plan.manifest.decoder->generation = std::move(generation.json);
  return {};
}

/// Returns the options as they are recorded in the module and the manifest.
static CompileOptions getRecordedOptions(const CompileOptions &options,
                                         std::vector<std::string> plugins) {
  CompileOptions recorded = options;
  recorded.flags = recordedFlags(options);
  for (std::string &plugin : plugins)
    recorded.flags.emplace_back("load-pass-plugin", std::move(plugin));
  return recorded;
}

/// Returns the stage to resume from, or nullopt.
static Result<std::optional<ResumedStage>>
getResumedStage(const CompileOptions &options) {
  if (options.resumeFrom.empty())
    return std::optional<ResumedStage>();
  TRANSOM_ASSIGN(ResumedStage resumed, readStage(options.resumeFrom));
  if (options.emit < resumed.stage)
    return usageError(
        "'--emit " + std::string(getStageInfo(options.emit).name) +
        "' is before the stage '" + getStageInfo(resumed.stage).name +
        "' of '" + options.resumeFrom + "'");
  return std::optional(std::move(resumed));
}

/// Runs all stages of an imported module, or the stages after `resumed`.
static Result<CompileReport>
compileStages(OwningOpRef<ModuleOp> module, ModelFacts &facts,
              const CompileOptions &options,
              const std::optional<ResumedStage> &resumed,
              CompileObserver *observer) {
  OutputSet outputs;
  std::optional<StageWriter> stages;
  if (!options.stagesFolder.empty()) {
    TRANSOM_ASSIGN(stages, StageWriter::create(options.stagesFolder, outputs));
  }
  // Provide weights and facts from the model files.
  ModuleSource source;
  source.outputs = &outputs;
  const BalancedTensors tensors(facts.info.files, facts.balanced);
  source.tensors = &tensors;
  source.resumed = resumed ? &*resumed : nullptr;
  source.stages = stages ? &*stages : nullptr;
  source.release = [&](const std::string &name) {
    facts.info.files.release(name);
  };
  source.complete = [&](ArtifactPlan &plan) {
    return facts.complete(plan, source.resumed);
  };
  // Compile; a resumed module may crash the compiler.
  CompileReport report;
  auto work = [&]() -> Result<void> {
    if (resumed) {
      TRANSOM_ASSIGN(module, readStageModule(*module->getContext(), *resumed,
                                             facts.info.files, options));
    }
    TRANSOM_ASSIGN(report,
                   compileModule(std::move(module), source, options, observer));
    return {};
  };
  TRANSOM_TRY(resumed ? guardCompile(resumed->path, work) : work());
  if (stages) {
    TRANSOM_ASSIGN(const FileHashes *inputs, facts.getHashes());
    TRANSOM_TRY(stages->finish(*inputs, options));
  }
  TRANSOM_TRY(outputs.commit());
  return report;
}

/// Imports a model and reads additional facts from its files; a single
/// config.json has none.
static Result<OwningOpRef<ModuleOp>> importFiles(MLIRContext &context,
                                                 const CompileOptions &options,
                                                 bool configOnly,
                                                 ModelFacts &facts) {
  prepareContext(context);
  ImportOptions import{options.model,   configOnly,     options.task,
                       options.scoring, options.layers, options.lora};
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> module,
                 importModel(context, import, facts.info));
  if (!options.kvDtype.empty() && !getStepEntry(*module))
    return usageError("'--kv-dtype' needs a decoder; the model has no cache of "
                      "keys and values");
  TRANSOM_TRY(checkMemory(facts.info, options.memLimit));
  if (configOnly)
    return Result<OwningOpRef<ModuleOp>>(std::move(module));
  TRANSOM_TRY(facts.read(*module, options));
  const bool isListed = options.listedLogits || !options.shortlist.file.empty();
  if (isListed && options.backend != "native")
    facts.notes.push_back("translations multiply the whole output head: only "
                          "'--backend native' multiplies listed columns");
  else if (isListed)
    if (std::string why = addListedLogits(*module); !why.empty())
      facts.notes.push_back(why);
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

/// Compiles a model; `observer` may be null.
static Result<CompileReport> compileModel(const CompileOptions &options,
                                          CompileObserver *observer) {
  // Check the options before any work.
  TRANSOM_TRY(checkOptions(options));
  TRANSOM_ASSIGN(std::optional<ResumedStage> resumed, getResumedStage(options));
  TRANSOM_TRY(checkPrintedPasses(
      options, resumed ? std::optional(resumed->stage) : std::nullopt));
  TRANSOM_ASSIGN(std::vector<std::string> plugins,
                 loadPassPlugins(options.passPlugins));
  if (options.progress &&
      !options.progress({getStageInfo(Stage::Attn).progress}))
    return unavailable("interrupted");
  // Import the model.
  const auto started = std::chrono::steady_clock::now();
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ModelFacts facts;
  const bool configOnly = observer && isConfigAlone(options.model);
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> module,
                 importFiles(context, options, configOnly, facts));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started)
          .count();

  // Run the stages and complete the report.
  const CompileOptions recorded =
      getRecordedOptions(options, std::move(plugins));
  if (observer)
    observer->imported(*module, facts.info, recorded);
  TRANSOM_ASSIGN(
      CompileReport report,
      compileStages(std::move(module), facts, recorded, resumed, observer));
  const std::vector<std::string> &notes =
      configOnly ? facts.info.notes : facts.notes;
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end());
  report.seconds.insert(report.seconds.begin(),
                        {getStageInfo(Stage::Attn).progress, seconds});
  return report;
}

Result<void> transom::withImportedModel(
    const CompileOptions &given,
    llvm::function_ref<Result<void>(OwningOpRef<ModuleOp>, const ImportInfo &,
                                    const CompileOptions &)>
        use) {
  CompileOptions options = given;
  options.emit = Stage::Kern;
  options.output.clear();
  options.stagesFolder.clear();
  TRANSOM_TRY(checkOptions(options));
  TRANSOM_ASSIGN(std::vector<std::string> plugins,
                 loadPassPlugins(options.passPlugins));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ModelFacts facts;
  TRANSOM_ASSIGN(
      OwningOpRef<ModuleOp> module,
      importFiles(context, options, isConfigAlone(options.model), facts));
  return use(std::move(module), facts.info,
             getRecordedOptions(options, std::move(plugins)));
}

Result<CompileReport> transom::compile(const CompileOptions &options) {
  return compileModel(options, nullptr);
}

Result<CompileReport> transom::observeCompile(const CompileOptions &options,
                                              CompileObserver &observer,
                                              Stage last) {
  CompileOptions lowered = options;
  lowered.emit = last;
  lowered.output.clear();
  return compileModel(lowered, &observer);
}
