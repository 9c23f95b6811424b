// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the stages. Between two of them the module is written and read back, so
// that all that a stage needs is in the IR.
#include "compiler/driver/CompileModule.h"
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/codegen/CodeSize.h"
#include "compiler/driver/CompileCode.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/ModuleText.h"
#include "compiler/pipeline/ExtensionPoints.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "compiler/pipeline/Reproducer.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/IR/Verifier.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Support/SourceMgr.h"
#include <chrono>
#include <set>

using namespace mlir;
using namespace transom;

namespace {

/// One compile of one module.
class ModuleCompiler {
public:
  ModuleCompiler(OwningOpRef<ModuleOp> module, const ModuleSource &source,
                 const CompileOptions &options, CompileObserver *observer)
      : module(std::move(module)), source(source), options(options),
        observer(observer) {}

  Result<CompileReport> run();

private:
  /// Reports the progress of a stage; an error if the compile is to stop.
  Result<void> tell(Stage stage, uint64_t done, uint64_t total);
  /// Reports the progress and begins to measure a stage.
  Result<void> begin(Stage stage);
  void end(Stage stage);
  /// Runs the passes of a stage, then writes and reads the module.
  Result<void> runPasses(Stage stage);
  Result<void> runPass(const transom::PassInfo &info,
                       const PipelineOptions &pipeline);
  /// `error` of the last of `passes`, with a file that holds its input. The
  /// others run on `before` once more.
  Error withInput(Error error, ModuleOp before,
                  llvm::ArrayRef<const transom::PassInfo *> passes,
                  const PipelineOptions &pipeline);
  void setAttentionAttributes();
  Result<void> checkAttentionEntry();
  Result<void> readBack();
  /// `error` of lowering, with a file that holds the kern module.
  Error withLowering(Error error);
  Result<void> makeCode();
  Result<void> showLowering();
  Result<void> readBackLlvm(std::vector<IsaModule> &modules);
  Result<void> writeLibrary(std::vector<IsaObject> objects);
  /// Hands a stage's text over, one an instruction set where `isa` is given.
  Result<void> emitText(const std::string &text, const std::string &isa);

  OwningOpRef<ModuleOp> module;
  const ModuleSource &source;
  const CompileOptions &options;
  CompileObserver *observer; ///< null for none
  CompileReport report;
  std::vector<const InstructionSet *> isas;
  std::chrono::steady_clock::time_point started;
};

} // namespace

void transom::prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  registerLLVMTranslations(context);
}

func::FuncOp transom::getStepEntry(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.getOps<attn::DecodeBatchOp>().empty())
      return function;
  return func::FuncOp();
}

Result<void> ModuleCompiler::tell(Stage stage, uint64_t done, uint64_t total) {
  if (options.progress &&
      !options.progress({getStageInfo(stage).progress, done, total}))
    return unavailable("interrupted");
  return {};
}

Result<void> ModuleCompiler::begin(Stage stage) {
  started = std::chrono::steady_clock::now();
  return tell(stage, 0, 0);
}

void ModuleCompiler::end(Stage stage) {
  report.seconds.emplace_back(
      getStageInfo(stage).progress,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started)
          .count());
}

/// `error` with the path of a file that holds the text.
static Error withReproducer(Error error, const std::string &text) {
  if (std::string path = writeReproducer(text); !path.empty())
    error.message += "; reproducer: " + path;
  return error;
}

/// `error` with the path of a reproducer of passes that fail on a module.
static Error withReproducer(Error error, ModuleOp module,
                            const PassManager &failing) {
  std::string pipeline;
  llvm::raw_string_ostream stream(pipeline);
  failing.printAsTextualPipeline(stream);
  return withReproducer(std::move(error),
                        printReproducer(module, stream.str()));
}

/// The conversion may refuse what kern does not have; whatever else fails is a
/// bug of ours.
Result<void> ModuleCompiler::runPass(const transom::PassInfo &info,
                                     const PipelineOptions &pipeline) {
  DiagnosticCollector diagnostics(*module->getContext());
  PassManager passes(module->getContext());
  passes.enableVerifier(false); // below, to tell a refusal from a broken module
  passes.addPass(info.create(pipeline));
  const bool done = succeeded(passes.run(*module));
  if (done && succeeded(verify(*module)))
    return {};
  if (!done && info.flag == "convert-attn-to-kern")
    return diagnostics.error(Status::Unsupported,
                             "the model does not convert to kernels");
  // What a plug-in does wrong is no bug of ours.
  const bool isPlugin = isExtensionPoint(info.flag);
  Error error = diagnostics.error(
      isPlugin ? Status::Rejected : Status::Internal, "no reason given");
  error.message =
      (isPlugin ? "a plug-in's pass at '" : "pass '") + info.flag.str() +
      (done ? "' made an invalid module: " : "' failed: ") + error.message;
  return error;
}

Error ModuleCompiler::withInput(
    Error error, ModuleOp before,
    llvm::ArrayRef<const transom::PassInfo *> passes,
    const PipelineOptions &pipeline) {
  if (error.status == Status::Unsupported)
    return error;
  DiagnosticCollector diagnostics(*module->getContext());
  PassManager manager(module->getContext());
  manager.enableVerifier(false);
  for (const transom::PassInfo *info : passes.drop_back())
    manager.addPass(info->create(pipeline));
  if (failed(manager.run(before)))
    return error;
  PassManager failing(module->getContext(), ModuleOp::getOperationName());
  failing.addPass(passes.back()->create(pipeline));
  return withReproducer(std::move(error), before, failing);
}

Result<void> ModuleCompiler::runPasses(Stage stage) {
  TRANSOM_TRY(begin(stage));
  PipelineOptions pipeline;
  pipeline.disabled = {options.disabledPasses.begin(),
                       options.disabledPasses.end()};
  pipeline.backend = *parseBackend(options.backend);
  std::vector<const transom::PassInfo *> passes;
  for (const transom::PassInfo &info : getPasses())
    if (info.stage == stage && runsPass(info, pipeline))
      passes.push_back(&info);
  // One copy for all passes. When one fails, those before it run again on the
  // copy, which gives the input of that pass.
  OwningOpRef<ModuleOp> before(module->clone());
  for (size_t i = 0; i < passes.size(); ++i) {
    if (Result<void> done = runPass(*passes[i], pipeline); !done)
      return withInput(done.takeError(), *before,
                       llvm::ArrayRef(passes).take_front(i + 1), pipeline);
    if (observer)
      observer->passed(*passes[i], *module, nullptr);
    TRANSOM_TRY(tell(stage, i + 1, passes.size() + 1));
  }
  TRANSOM_TRY(readBack());
  if (observer)
    observer->finished(stage, *module);
  end(stage);
  return {};
}

Result<void> ModuleCompiler::readBack() {
  const std::string text = printModule(*module);
  Result<OwningOpRef<ModuleOp>> read = readModule(*module->getContext(), text);
  if (!read)
    return withReproducer(read.takeError(), text);
  module = std::move(*read);
  return {};
}

/// Writes LLVM IR and reads it back, with the order of uses.
Result<void> ModuleCompiler::readBackLlvm(std::vector<IsaModule> &modules) {
  for (IsaModule &code : modules) {
    const std::string text = printLLVM(code);
    // In a context of its own: constants count their uses there.
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::SMDiagnostic problem;
    std::unique_ptr<llvm::Module> read =
        llvm::parseAssemblyString(text, problem, *context);
    if (!read)
      return internalError("LLVM IR does not read back: " +
                           problem.getMessage().str());
    code.module.reset();
    code.context = std::move(context);
    code.module = std::move(read);
  }
  return {};
}

/// `model.s` for an instruction set: `model.avx2.s`.
static std::string getIsaPath(const std::string &path, const std::string &isa) {
  size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name)
    return path + "." + isa;
  return path.substr(0, dot) + "." + isa + path.substr(dot);
}

Result<void> ModuleCompiler::emitText(const std::string &text,
                                      const std::string &isa) {
  if (options.output.empty()) {
    report.text += text;
    return {};
  }
  const std::string path = isas.size() > 1 && !isa.empty()
                               ? getIsaPath(options.output, isa)
                               : options.output;
  report.written.push_back(path);
  return writeTextFile(path, text);
}

Error ModuleCompiler::withLowering(Error error) {
  DiagnosticCollector diagnostics(*module->getContext());
  for (const InstructionSet *isa : isas) {
    if (succeeded(lowerModule(*module, isa->name)))
      continue;
    PipelineOptions pipeline;
    pipeline.isa = isa->name;
    PassManager failing(module->getContext(), ModuleOp::getOperationName());
    populateStage(failing, Stage::LlvmIr, pipeline);
    return withReproducer(std::move(error), *module, failing);
  }
  return error;
}

/// Lowers the module for each instruction set, and keeps nothing of it.
Result<void> ModuleCompiler::showLowering() {
  TRANSOM_TRY(begin(Stage::LlvmIr));
  if (Result<void> shown = observeLowering(*module, isas, *observer); !shown)
    return withLowering(shown.takeError());
  end(Stage::LlvmIr);
  return {};
}

Result<void> ModuleCompiler::makeCode() {
  if (observer && options.emit == Stage::LlvmIr)
    return showLowering();
  TRANSOM_TRY(begin(Stage::LlvmIr));
  Result<std::vector<IsaModule>> modules =
      lowerToLlvm(*module, isas, [&](uint64_t done, uint64_t total) {
        return tell(Stage::LlvmIr, done, total);
      });
  if (!modules && modules.error().status != Status::Internal)
    return modules.takeError(); // interrupted
  if (!modules)
    return withLowering(modules.takeError());
  if (options.checkRoundTrip)
    if (Result<void> read = readBackLlvm(*modules); !read)
      return read;
  end(Stage::LlvmIr);
  if (options.emit == Stage::LlvmIr) {
    for (IsaModule &code : *modules)
      if (Result<void> done = emitText(printLLVM(code), code.isa->name); !done)
        return done;
    return {};
  }
  TRANSOM_TRY(begin(Stage::Obj));
  CodeOptions how{options.emit == Stage::Asm ? CodeKind::Assembly
                                             : CodeKind::Object,
                  options.optLevel, options.jobs};
  TRANSOM_ASSIGN(
      std::vector<IsaObject> objects,
      generate(std::move(*modules), how, [&](uint64_t done, uint64_t total) {
        return tell(Stage::Obj, done, total);
      }));
  if (how.kind == CodeKind::Object)
    for (const IsaObject &object : objects) {
      TRANSOM_ASSIGN(CodeSize size, getCodeSize(object.object));
      report.code.push_back(
          {object.isa, size.phases, size.kernels, size.bytes});
    }
  end(Stage::Obj);
  if (options.emit == Stage::So)
    return writeLibrary(std::move(objects));
  for (const IsaObject &object : objects)
    if (Result<void> done = emitText(object.object, object.isa); !done)
      return done;
  return {};
}

Result<void> ModuleCompiler::writeLibrary(std::vector<IsaObject> objects) {
  TRANSOM_ASSIGN(ArtifactPlan plan, planArtifact(*module));
  plan.manifest.compiler = TRANSOM_VERSION;
  plan.manifest.dtype = options.dtype;
  plan.manifest.options = options.flags;
  plan.manifest.disabledPasses = options.disabledPasses;
  if (source.complete)
    if (Result<void> done = source.complete(plan); !done)
      return done;
  TRANSOM_TRY(begin(Stage::So));
  Result<ArtifactReport> written =
      writeArtifact(plan, objects, *source.tensors, source.release,
                    options.output, [&](uint64_t done, uint64_t total) {
                      return !options.progress ||
                             options.progress({getStageInfo(Stage::So).progress,
                                               done, total});
                    });
  if (!written)
    return written.takeError();
  end(Stage::So);
  report.fileBytes = written->fileBytes;
  report.parameters = static_cast<uint64_t>(plan.manifest.parameters);
  report.written.push_back(options.output);
  return {};
}

/// The type of caches. Without `--kv-dtype` it is that of weights if caches
/// support it, else f32.
static std::string getCacheType(const CompileOptions &options) {
  if (!options.kvDtype.empty())
    return options.kvDtype;
  return parseCacheOption(options.dtype) ? options.dtype : "f32";
}

/// An error if the caches of a decoder round keys and values in another way
/// than the entry with weights of attention, which has none.
static Result<void> checkCachesBesideAttention(const CompileOptions &options) {
  if (!options.attention || options.kvDtype.empty() ||
      options.kvDtype == options.dtype)
    return {};
  return unsupported("'--attention' with '--kv-dtype " + options.kvDtype +
                     "' is not supported for '--dtype " + options.dtype +
                     "'; supported: '--kv-dtype " + options.dtype + "'");
}

/// Tells the pass that adds the entry with weights of attention which.
void ModuleCompiler::setAttentionAttributes() {
  Builder builder(module->getContext());
  (*module)->setAttr("transom.attention", builder.getUnitAttr());
  if (!options.attentionLayers.empty())
    (*module)->setAttr("transom.attention_layers",
                       builder.getDenseI64ArrayAttr(options.attentionLayers));
  if (!options.attentionHeads.empty())
    (*module)->setAttr("transom.attention_heads",
                       builder.getDenseI64ArrayAttr(options.attentionHeads));
}

/// An error unless there is an entry with weights of attention, and in it all
/// layers and heads that are asked for.
Result<void> ModuleCompiler::checkAttentionEntry() {
  auto entry = module->lookupSymbol<func::FuncOp>("attention");
  if (!entry)
    return unsupported("weights of attention are not supported for this "
                       "model; supported: encoders, decoders and "
                       "encoder-decoders of token ids");
  // Results are called `attentions.0` and have a dimension of heads.
  std::set<int64_t> layers;
  int64_t heads = 0;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, "attn.name");
    int64_t layer = 0;
    if (!name || !name.getValue().contains("attentions.") ||
        name.getValue().rsplit('.').second.getAsInteger(10, layer))
      continue;
    layers.insert(layer);
    auto type = cast<RankedTensorType>(entry.getResultTypes()[i]);
    heads = std::max(heads, type.getDimSize(1));
  }
  if (heads < static_cast<int64_t>(options.attentionHeads.size()))
    return usageError(
        "'--attention-heads': the model has no layer with head '" +
        std::to_string(options.attentionHeads.back()) + "'");
  for (int64_t layer : options.attentionLayers)
    if (!layers.count(layer))
      return usageError("'--attention-layers': the model has no layer '" +
                        std::to_string(layer) + "' with these heads");
  return {};
}

Result<CompileReport> ModuleCompiler::run() {
  const std::string kvDtype = getCacheType(options);
  TRANSOM_TRY(checkCachesBesideAttention(options));
  TRANSOM_ASSIGN(std::vector<const InstructionSet *> chosen,
                 selectTargets(options.targets,
                               options.dtype == "bf16" || kvDtype == "bf16"));
  isas = std::move(chosen);
  // The passes are told by the module itself.
  if (options.dtype != "f32")
    (*module)->setAttr("transom.dtype",
                       StringAttr::get(module->getContext(), options.dtype));
  if (kvDtype != "f32")
    (*module)->setAttr("transom.kv_dtype",
                       StringAttr::get(module->getContext(), kvDtype));
  if (options.attentionSchedule != "auto")
    (*module)->setAttr("transom.attention_schedule",
                       kern::ScheduleAttr::get(module->getContext(),
                                               *kern::AttentionSchedule::parse(
                                                   options.attentionSchedule)));
  if (options.attention)
    setAttentionAttributes();
  (*module)->setAttr("transom.backend",
                     StringAttr::get(module->getContext(), options.backend));
  for (Stage stage : {Stage::Attn, Stage::AttnOpt, Stage::Kern}) {
    // The caller has imported the module.
    TRANSOM_TRY(stage == Stage::Attn ? readBack() : runPasses(stage));
    if (stage == Stage::AttnOpt && options.attention)
      TRANSOM_TRY(checkAttentionEntry());
    if (options.emit == stage) {
      if (Result<void> done =
              emitText(printForReading(*module, options.emitLocations), {});
          !done)
        return done.takeError();
      return std::move(report);
    }
  }
  TRANSOM_TRY(makeCode());
  return std::move(report);
}

Result<void> transom::checkOptions(const CompileOptions &options) {
  if (Result<void> known = checkDisabledPasses(
          {options.disabledPasses.begin(), options.disabledPasses.end()});
      !known)
    return known;
  TRANSOM_ASSIGN(std::vector<const InstructionSet *> isas,
                 selectTargets(options.targets));
  if (options.dtype != "f32" && options.dtype != "bf16")
    return usageError("unknown dtype '" + options.dtype +
                      "'; supported: f32, bf16");
  if (!parseCacheOption(getCacheType(options)))
    return usageError("unknown dtype of caches '" + options.kvDtype +
                      "'; supported: " + llvm::join(getCacheOptions(), ", "));
  if (!kern::AttentionSchedule::parse(options.attentionSchedule))
    return usageError(
        "unknown attention schedule '" + options.attentionSchedule +
        "'; supported: " + kern::AttentionSchedule::getSupported().str());
  if (!parseBackend(options.backend))
    return usageError("unknown backend '" + options.backend +
                      "'; supported: native, onednn");
  if (options.backend == "onednn" && options.dtype != "f32")
    return unsupported("'--backend onednn' with '--dtype " + options.dtype +
                       "' is not supported; supported: f32");
  if (options.optLevel != 0 && options.optLevel != 2)
    return usageError("unknown level of optimization " +
                      std::to_string(options.optLevel) + "; supported: 0, 2");
  if (options.output.empty() &&
      (options.emit == Stage::So || options.emit == Stage::Obj))
    return usageError("'" + std::string(getStageInfo(options.emit).name) +
                      "' needs an output file, '-o FILE'");
  return {};
}

Result<CompileReport> transom::compileModule(OwningOpRef<ModuleOp> module,
                                             const ModuleSource &source,
                                             const CompileOptions &options,
                                             CompileObserver *observer) {
  TRANSOM_TRY(checkOptions(options));
  return ModuleCompiler(std::move(module), source, options, observer).run();
}

Result<CompileReport> transom::compileModule(ModuleOp module,
                                             const TensorSource &source,
                                             const CompileOptions &options) {
  ModuleSource tensors;
  tensors.tensors = &source;
  return compileModule(OwningOpRef<ModuleOp>(module.clone()), tensors, options);
}
