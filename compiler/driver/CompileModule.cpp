// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the stages. Between stages the module is written and read back, which
// ensures that the IR contains everything that a stage needs.
#include "compiler/driver/CompileModule.h"
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/codegen/CodeSize.h"
#include "compiler/driver/CodeListing.h"
#include "compiler/driver/CompileCode.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/driver/EmittedFiles.h"
#include "compiler/driver/KernelNames.h"
#include "compiler/driver/Observers.h"
#include "compiler/driver/PassMonitor.h"
#include "compiler/driver/PassPlugins.h"
#include "compiler/options/ModuleOptions.h"
#include "compiler/pipeline/ExtensionPoints.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "compiler/pipeline/Reproducer.h"
#include "compiler/stages/Diagnostics.h"
#include "compiler/stages/ModuleText.h"
#include "compiler/stages/StageFiles.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "runtime/base/File.h"
#include <chrono>

using namespace mlir;
using namespace transom;

namespace {

/// Compiles one module.
class ModuleCompiler {
public:
  ModuleCompiler(OwningOpRef<ModuleOp> module, const ModuleSource &source,
                 OutputSet &outputs, const CompileOptions &options,
                 CompileObserver *observer)
      : module(std::move(module)), source(source), options(options),
        isExplained(observer && options.emit == Stage::LlvmIr),
        monitor(options), emitted(outputs, options, report) {
    if (observer)
      observers.add(observer);
    if (monitor.isNeeded())
      observers.add(&monitor);
    if (options.emit == Stage::So)
      observers.add(&kernelNames);
  }

  Result<CompileReport> run();

private:
  /// Reports the progress in a stage; returns an error if the compile must
  /// stop.
  Result<void> tell(Stage stage, uint64_t done, uint64_t total);
  /// Reports the progress and starts the timer for a stage.
  Result<void> begin(Stage stage);
  /// Stops the timer for a stage, and reports that it is complete.
  Result<void> end(Stage stage);
  /// Returns the completed report.
  CompileReport finish();
  /// Runs all passes in a stage, then writes and reads the module.
  Result<void> runPasses(Stage stage);
  Result<void> runPass(const transom::PassInfo &info,
                       const PipelineOptions &pipeline);
  /// Adds a file with the failed pass's input to `error`. The failed pass is
  /// the last in `passes`; the others run again on `before`.
  Error withInput(Error error, ModuleOp before,
                  llvm::ArrayRef<const transom::PassInfo *> passes,
                  const PipelineOptions &pipeline);
  /// Writes the module, also to the stage folder, and reads it back.
  Result<void> readBack(Stage stage);
  /// Adds a file with the kern module to a lowering error.
  Error withLowering(Error error);
  Result<void> makeCode();
  /// Returns LLVM IR: lowered, or from the resumed stage.
  Result<std::vector<IsaModule>> getLlvmIr();
  /// Returns objects or assembly: generated, or from the resumed stage.
  Result<std::vector<IsaObject>> getObjects(CodeKind kind);
  /// Returns an instruction set's code from the resumed stage.
  Result<const std::string *> getResumedCode(const InstructionSet &isa);
  Result<void> readBackLlvm(std::vector<IsaModule> &modules);
  Result<void> writeCode(std::vector<IsaObject> objects);
  Result<void> writeLibrary(std::vector<IsaObject> objects);

  OwningOpRef<ModuleOp> module;
  const ModuleSource &source;
  const CompileOptions &options;
  /// An explanation ends in the LLVM dialect.
  const bool isExplained;
  PassMonitor monitor;
  KernelNames kernelNames;
  Observers observers;
  CompileReport report;
  EmittedFiles emitted;
  std::vector<const InstructionSet *> isas;
  std::optional<CodeListing> listing; ///< with lines for code
  std::chrono::steady_clock::time_point started;
  uint64_t unfinished =
      0; ///< total for the stage, until it is completely reported
};

} // namespace

void transom::prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  registerLLVMTranslations(context);
}

Result<void> ModuleCompiler::tell(Stage stage, uint64_t done, uint64_t total) {
  unfinished = done < total ? total : 0;
  if (options.progress &&
      !options.progress({getStageInfo(stage).progress, done, total}))
    return unavailable("interrupted");
  return {};
}

Result<void> ModuleCompiler::begin(Stage stage) {
  started = std::chrono::steady_clock::now();
  return tell(stage, 0, 0);
}

Result<void> ModuleCompiler::end(Stage stage) {
  report.seconds.emplace_back(
      getStageInfo(stage).progress,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started)
          .count());
  return unfinished ? tell(stage, unfinished, unfinished) : Result<void>();
}

CompileReport ModuleCompiler::finish() {
  report.passes = monitor.takeTimes();
  return std::move(report);
}

/// Adds the path of a file with the text to `error`.
static Error withReproducer(Error error, const std::string &text) {
  if (std::string path = writeReproducer(text); !path.empty())
    error.message += "; reproducer: " + path;
  return error;
}

/// Adds the path of a reproducer for passes that fail on a module to `error`.
static Error withReproducer(Error error, ModuleOp module,
                            const PassManager &failing) {
  std::string pipeline;
  llvm::raw_string_ostream stream(pipeline);
  failing.printAsTextualPipeline(stream);
  return withReproducer(std::move(error),
                        printReproducer(module, stream.str()));
}

/// Returns the error for a failed pass, or for a pass that succeeded (`done`)
/// but left an invalid module. The conversion may reject operations that kern
/// does not support; other failures are internal errors.
static Error describeFailure(const transom::PassInfo &info, bool done,
                             const DiagnosticCollector &diagnostics) {
  if (!done && info.flag == "convert-attn-to-kern")
    return diagnostics.error(Status::Unsupported,
                             "the model does not convert to kernels");
  // A failing plug-in is not an internal error.
  const bool isPlugin = isExtensionPoint(info.flag);
  Error error = diagnostics.error(
      isPlugin ? Status::Rejected : Status::Internal, "no reason given");
  error.message =
      (isPlugin ? "a plug-in's pass at '" : "pass '") + info.flag.str() +
      (done ? "' made an invalid module: " : "' failed: ") + error.message;
  return error;
}

Result<void> ModuleCompiler::runPass(const transom::PassInfo &info,
                                     const PipelineOptions &pipeline) {
  observers.willRun(info, *module, nullptr);
  DiagnosticCollector diagnostics(*module->getContext());
  PassManager passes(module->getContext());
  passes.enableVerifier(
      false); // done below, to distinguish a failed pass from an invalid module
  passes.addPass(info.create(pipeline));
  // A plug-in pass may crash.
  bool done = false;
  if (options.passPlugins.empty() || !isExtensionPoint(info.flag)) {
    done = succeeded(passes.run(*module));
  } else {
    TRANSOM_ASSIGN(done, runPluginPasses(passes, *module, info.flag.str(),
                                         options.passPlugins));
  }
  if (done && succeeded(verify(*module))) {
    observers.passed(info, *module, nullptr);
    return {};
  }
  Error error = describeFailure(info, done, diagnostics);
  observers.failed(info, diagnostics.getLocation(), nullptr, error);
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
  // One copy for all passes. If one fails, the previous passes run again on the
  // copy, which gives the failed pass's input.
  OwningOpRef<ModuleOp> before(module->clone());
  for (size_t i = 0; i < passes.size(); ++i) {
    if (Result<void> done = runPass(*passes[i], pipeline); !done)
      return withInput(done.takeError(), *before,
                       llvm::ArrayRef(passes).take_front(i + 1), pipeline);
    TRANSOM_TRY(tell(stage, i + 1, passes.size() + 1));
  }
  TRANSOM_TRY(readBack(stage));
  observers.finished(stage, *module);
  return end(stage);
}

Result<void> ModuleCompiler::readBack(Stage stage) {
  const std::string text = printModule(*module);
  if (source.stages)
    TRANSOM_TRY(source.stages->add(stage, {}, text));
  Result<OwningOpRef<ModuleOp>> read = readModule(*module->getContext(), text);
  if (!read)
    return withReproducer(read.takeError(), text);
  module = std::move(*read);
  return {};
}

/// Writes LLVM IR and reads it back, with use-list order.
Result<void> ModuleCompiler::readBackLlvm(std::vector<IsaModule> &modules) {
  for (IsaModule &code : modules) {
    Result<IsaModule> read = readLlvm(printLLVM(code), *code.isa);
    if (!read)
      return internalError("LLVM IR does not read back: " +
                           read.error().message);
    code.module.reset(); // before its context
    code = std::move(*read);
  }
  return {};
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

Result<const std::string *>
ModuleCompiler::getResumedCode(const InstructionSet &isa) {
  const auto &code = source.resumed->code;
  if (auto found = code.find(isa.name); found != code.end())
    return &found->second;
  return usageError("'" + options.resumeFrom + "' has no code for '" +
                    isa.name + "'; supported: " + source.resumed->getIsas());
}

Result<std::vector<IsaModule>> ModuleCompiler::getLlvmIr() {
  if (source.resumed && source.resumed->stage == Stage::LlvmIr) {
    std::vector<IsaModule> modules;
    for (const InstructionSet *isa : isas) {
      TRANSOM_ASSIGN(const std::string *text, getResumedCode(*isa));
      Result<IsaModule> code = readLlvm(*text, *isa);
      if (!code)
        return rejected(options.resumeFrom + ": code for '" + isa->name +
                        "': " + code.error().message);
      modules.push_back(std::move(*code));
    }
    return Result<std::vector<IsaModule>>(std::move(modules));
  }
  // Assembly also has lines, for its comments; stage files have none.
  if (options.debugInfo || (options.emit == Stage::Asm && !source.stages))
    listing = makeListing(*module, getFileName(getListingPath(options.output)));
  Result<std::vector<IsaModule>> modules = lowerToLlvm(
      *module, isas,
      [&](uint64_t done, uint64_t total) {
        return tell(Stage::LlvmIr, done, total);
      },
      &observers, !isExplained, listing ? &*listing : nullptr);
  if (!modules && modules.error().status == Status::Internal)
    return withLowering(modules.takeError());
  return modules;
}

Result<std::vector<IsaObject>> ModuleCompiler::getObjects(CodeKind kind) {
  // Objects may come from the resumed stage.
  if (source.resumed && source.resumed->stage == Stage::Obj) {
    std::vector<IsaObject> objects;
    for (const InstructionSet *isa : isas) {
      TRANSOM_ASSIGN(const std::string *bytes, getResumedCode(*isa));
      objects.push_back({isa->name, *bytes});
    }
    return Result<std::vector<IsaObject>>(std::move(objects));
  }

  // Lower to LLVM IR.
  TRANSOM_TRY(begin(Stage::LlvmIr));
  TRANSOM_ASSIGN(std::vector<IsaModule> modules, getLlvmIr());
  if (options.checkRoundTrip)
    TRANSOM_TRY(readBackLlvm(modules));
  if (source.stages)
    for (const IsaModule &code : modules)
      TRANSOM_TRY(
          source.stages->add(Stage::LlvmIr, code.isa->name, printLLVM(code)));
  TRANSOM_TRY(end(Stage::LlvmIr));
  if (options.emit == Stage::LlvmIr) {
    for (const IsaModule &code : modules)
      TRANSOM_TRY(emitted.write(printLLVM(code), code.isa->name));
    return std::vector<IsaObject>();
  }

  // Generate code.
  TRANSOM_TRY(begin(Stage::Obj));
  CodeOptions how{kind, options.optLevel, options.jobs,
                  source.resumed != nullptr};
  TRANSOM_ASSIGN(
      std::vector<IsaObject> objects,
      generate(std::move(modules), how, [&](uint64_t done, uint64_t total) {
        return tell(Stage::Obj, done, total);
      }));
  TRANSOM_TRY(end(Stage::Obj));
  return Result<std::vector<IsaObject>>(std::move(objects));
}

Result<void> ModuleCompiler::makeCode() {
  const bool isAssembly = options.emit == Stage::Asm;
  TRANSOM_ASSIGN(
      std::vector<IsaObject> objects,
      getObjects(isAssembly ? CodeKind::Assembly : CodeKind::Object));
  for (const IsaObject &object : objects) {
    if (source.stages)
      TRANSOM_TRY(source.stages->add(isAssembly ? Stage::Asm : Stage::Obj,
                                     object.isa, object.object));
    if (isAssembly)
      continue;
    TRANSOM_ASSIGN(CodeSize size, getCodeSize(object.object));
    report.code.push_back({object.isa, size.phases, size.kernels, size.bytes});
  }
  if (!options.debugInfo)
    return writeCode(std::move(objects));

  if (!listing)
    return usageError("'--debug-info' needs the module of stage 'kern' or of "
                      "one before; '" +
                      options.resumeFrom + "' is of a later one");
  TRANSOM_TRY(emitted.writeListing(listing->text));
  return writeCode(std::move(objects));
}

Result<void> ModuleCompiler::writeCode(std::vector<IsaObject> objects) {
  if (options.emit == Stage::So)
    return writeLibrary(std::move(objects));
  for (const IsaObject &object : objects)
    TRANSOM_TRY(emitted.write(object.object, object.isa));
  return {};
}

Result<void> ModuleCompiler::writeLibrary(std::vector<IsaObject> objects) {
  TRANSOM_ASSIGN(ArtifactPlan plan, planArtifact(*module));
  TRANSOM_TRY(kernelNames.complete(*module, isas, plan.manifest));
  plan.manifest.compiler = TRANSOM_VERSION;
  plan.manifest.dtype = options.dtype;
  plan.manifest.options = options.flags;
  plan.manifest.disabledPasses = options.disabledPasses;
  plan.manifest.certificate = options.certificate;
  if (source.complete)
    if (Result<void> done = source.complete(plan); !done)
      return done;
  TRANSOM_TRY(begin(Stage::So));
  Result<ArtifactReport> written =
      writeArtifact(plan, objects, *source.tensors, source.release,
                    emitted.getArtifact(), [&](uint64_t done, uint64_t total) {
                      return static_cast<bool>(tell(Stage::So, done, total));
                    });
  if (!written)
    return written.takeError();
  TRANSOM_TRY(end(Stage::So));
  report.notes = written->rounding.getNotes();
  report.fileBytes = written->fileBytes;
  report.parameters = static_cast<uint64_t>(plan.manifest.parameters);
  report.written.push_back(options.output);
  return {};
}

Result<CompileReport> ModuleCompiler::run() {
  TRANSOM_TRY(checkCachesBesideAttention(options));
  ModelTypes types;
  types.bf16 = options.dtype == "bf16" || getCacheType(options) == "bf16";
  if (!source.resumed)
    TRANSOM_TRY(prepareStoredWeights(*module, options));
  types.int8 = options.activations != "f32" &&
               ((!options.quantize.empty() && options.quantize != "none") ||
                hasStoredWeights(*module));
  TRANSOM_ASSIGN(isas, selectTargets(options.targets, types));
  setModuleOptions(*module, options);
  TRANSOM_TRY(emitted.open(isas));
  const Stage first = source.resumed ? source.resumed->stage : Stage::Attn;
  for (Stage stage : {Stage::Attn, Stage::AttnOpt, Stage::Kern}) {
    if (stage < first)
      continue;
    // The caller has imported or read the module for the first stage.
    if (stage != first) {
      TRANSOM_TRY(runPasses(stage));
    } else if (!source.resumed) {
      TRANSOM_TRY(readBack(stage));
      observers.finished(stage, *module);
    }
    if (stage == Stage::AttnOpt && options.attention)
      TRANSOM_TRY(checkAttentionEntry(*module, options));
    if (options.emit == stage) {
      TRANSOM_TRY(
          emitted.write(printForReading(*module, options.emitLocations), {}));
      return finish();
    }
  }
  TRANSOM_TRY(makeCode());
  return finish();
}

Result<CompileReport> transom::compileModule(OwningOpRef<ModuleOp> module,
                                             const ModuleSource &source,
                                             const CompileOptions &options,
                                             CompileObserver *observer) {
  TRANSOM_TRY(checkOptions(options));
  OutputSet own;
  TRANSOM_ASSIGN(CompileReport report,
                 ModuleCompiler(std::move(module), source,
                                source.outputs ? *source.outputs : own, options,
                                observer)
                     .run());
  TRANSOM_TRY(own.commit());
  return report;
}

Result<CompileReport> transom::compileModule(ModuleOp module,
                                             const TensorSource &source,
                                             const CompileOptions &options) {
  ModuleSource tensors;
  tensors.tensors = &source;
  return compileModule(OwningOpRef<ModuleOp>(module.clone()), tensors, options);
}
