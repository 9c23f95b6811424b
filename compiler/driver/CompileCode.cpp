// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering runs in one thread, since instruction sets share an MLIR context;
// LLVM, which takes most of the time, runs for several sets in parallel.
#include "compiler/driver/CompileCode.h"
#include "compiler/codegen/LineTables.h"
#include "compiler/driver/CodeListing.h"
#include "compiler/driver/CompileObserver.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/stages/Diagnostics.h"
#include "runtime/base/Threads.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/SourceMgr.h"
#include <atomic>
#include <condition_variable>
#include <mutex>

using namespace transom;

/// The progress interval for the calling thread while others work.
static constexpr std::chrono::milliseconds kProgressInterval{100};

Result<std::vector<IsaModule>>
transom::lowerToLlvm(mlir::ModuleOp module,
                     const std::vector<const InstructionSet *> &isas,
                     const StageProgress &progress, CompileObserver *observer,
                     bool keep, const CodeListing *listing) {
  DiagnosticCollector diagnostics(*module.getContext());
  std::vector<IsaModule> modules;
  uint64_t done = 0;
  const uint64_t total = isas.size() * (getNumLowerPasses() + 1);
  Result<void> told;
  auto tell = [&] {
    told = progress(++done, total);
    return static_cast<bool>(told);
  };
  // Lower a copy for each instruction set.
  for (const InstructionSet *isa : isas) {
    LoweringEvents events;
    const PassInfo *running = nullptr;
    events.willRun = [&](const PassInfo &pass, mlir::ModuleOp code) {
      running = &pass;
      if (observer)
        observer->willRun(pass, code, isa);
    };
    events.passDone = [&](const PassInfo &pass, mlir::ModuleOp code) {
      if (observer)
        observer->passed(pass, code, isa);
      return tell();
    };
    auto lowered =
        lowerModule(listing ? *listing->module : module, isa->name, events);
    if (!told)
      return told.takeError();
    if (mlir::failed(lowered)) {
      Error error = diagnostics.error(Status::Internal, "lowering failed");
      if (observer)
        observer->failed(*running, diagnostics.getLocation(), isa, error);
      return error;
    }
    if (observer)
      observer->finished(Stage::LlvmIr, **lowered);
    if (keep) {
      if (listing)
        addLineTables(**lowered, listing->file);
      TRANSOM_ASSIGN(IsaModule code, translate(**lowered, *isa));
      if (listing)
        code.lineNotes = listing->notes;
      modules.push_back(std::move(code));
    }
    if (!tell())
      return told.takeError();
  }
  return Result<std::vector<IsaModule>>(std::move(modules));
}

Result<IsaModule> transom::readLlvm(const std::string &text,
                                    const InstructionSet &isa) {
  IsaModule code;
  code.isa = &isa;
  TRANSOM_ASSIGN(code.machine, createTargetMachine(isa));
  // Constants track their uses in the context.
  code.context = std::make_unique<llvm::LLVMContext>();
  llvm::SMDiagnostic problem;
  code.module = llvm::parseAssemblyString(text, problem, *code.context);
  if (!code.module)
    return rejected("line " + std::to_string(problem.getLineNo()) + ": " +
                    problem.getMessage().str());
  std::string broken;
  llvm::raw_string_ostream stream(broken);
  if (llvm::verifyModule(*code.module, &stream))
    return rejected(llvm::StringRef(stream.str()).split('\n').first.str());
  const std::string triple = code.machine->getTargetTriple().str();
  if (code.module->getTargetTriple() != triple ||
      code.module->getDataLayout() != code.machine->createDataLayout())
    return rejected("is code for '" + code.module->getTargetTriple() +
                    "'; expected '" + triple + "'");
  return code;
}

namespace {

/// Generates code for modules in threads, and counts finished functions: each
/// is optimized and emitted.
class CodeGenerator {
public:
  CodeGenerator(std::vector<IsaModule> modules, const CodeOptions &options)
      : modules(std::move(modules)), options(options),
        counts(this->modules.size()) {
    for (const IsaModule &code : this->modules)
      results.push_back({code.isa->name, internalError("not generated"),
                         countFunctions(*code.module)});
  }

  Result<std::vector<IsaObject>> run(const StageProgress &progress);

private:
  struct One {
    std::string isa;
    Result<std::string> object;
    uint64_t numFunctions;
  };

  static uint64_t countFunctions(const llvm::Module &module) {
    return llvm::count_if(module, [](const llvm::Function &function) {
      return !function.isDeclaration();
    });
  }

  /// Processes modules until none is left.
  void work();
  /// Optimizes one module and generates its code; frees its IR.
  Result<std::string> generateOne(size_t index);
  Result<void> tell(const StageProgress &progress) const;
  /// Starts up to `size` worker threads, fewer if the system refuses some.
  std::vector<std::thread> startTeam(size_t size);
  /// Reports progress until all threads are done.
  Result<void> wait(const StageProgress &progress);

  std::vector<IsaModule> modules;
  const CodeOptions &options;
  std::vector<One> results;
  std::vector<std::atomic<uint64_t>> counts; ///< finished functions, by module
  std::atomic<size_t> next{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::condition_variable finished;
  size_t numRunning = 0; ///< threads, under the mutex
};

} // namespace

Result<std::string> CodeGenerator::generateOne(size_t index) {
  IsaModule code = std::move(modules[index]);
  if (stopped)
    return unavailable("interrupted");
  TRANSOM_TRY(optimize(code, options.level, &counts[index]));
  if (stopped)
    return unavailable("interrupted");
  counts[index] = results[index].numFunctions;
  Result<std::string> object = emitCode(code, options.kind, &counts[index]);
  counts[index] = 2 * results[index].numFunctions;
  return object;
}

void CodeGenerator::work() {
  for (size_t i = next++; i < modules.size(); i = next++) {
    llvm::CrashRecoveryContext guard;
    if (!options.guarded)
      results[i].object = generateOne(i);
    else if (!guard.RunSafely([&] { results[i].object = generateOne(i); }))
      results[i].object = internalError("LLVM cannot generate its code");
  }
  std::lock_guard<std::mutex> lock(mutex);
  --numRunning;
  finished.notify_one();
}

Result<void> CodeGenerator::tell(const StageProgress &progress) const {
  uint64_t done = 0, total = 0;
  for (const auto &[count, result] : llvm::zip(counts, results)) {
    total += 2 * result.numFunctions;
    done += std::min(count.load(), 2 * result.numFunctions);
  }
  return progress(done, total);
}

Result<void> CodeGenerator::wait(const StageProgress &progress) {
  Result<void> told;
  std::unique_lock<std::mutex> lock(mutex);
  while (!finished.wait_for(lock, kProgressInterval,
                            [&] { return numRunning == 0; })) {
    lock.unlock();
    if (told)
      told = tell(progress);
    stopped = !told;
    lock.lock();
  }
  return told;
}

std::vector<std::thread> CodeGenerator::startTeam(size_t size) {
  std::vector<std::thread> team;
  std::lock_guard<std::mutex> lock(mutex);
  while (team.size() < size) {
    std::optional<std::thread> thread = startThread([this] { work(); });
    if (!thread)
      break;
    team.push_back(std::move(*thread));
  }
  numRunning = std::max<size_t>(1, team.size());
  return team;
}

Result<std::vector<IsaObject>>
CodeGenerator::run(const StageProgress &progress) {
  unsigned jobs = options.jobs;
  if (jobs == 0)
    jobs = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> team =
      startTeam(std::min<size_t>(jobs, modules.size()));
  // Without another thread there is no progress to report in the meantime.
  if (team.empty())
    work();
  Result<void> told = wait(progress);
  for (std::thread &thread : team)
    thread.join();
  TRANSOM_TRY(std::move(told));
  TRANSOM_TRY(tell(progress));

  std::vector<IsaObject> objects;
  for (One &one : results) {
    if (!one.object)
      return one.object.takeError();
    objects.push_back({one.isa, std::move(*one.object)});
  }
  return Result<std::vector<IsaObject>>(std::move(objects));
}

Result<std::vector<IsaObject>>
transom::generate(std::vector<IsaModule> modules, const CodeOptions &options,
                  const StageProgress &progress) {
  return CodeGenerator(std::move(modules), options).run(progress);
}
