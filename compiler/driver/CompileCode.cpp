// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lowering is done in one thread, since instruction sets share MLIR's context;
// LLVM's part, which takes most of the time, runs for several at once.
#include "compiler/driver/CompileCode.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/pipeline/LowerModule.h"
#include <atomic>
#include <thread>

using namespace transom;

Result<std::vector<IsaModule>>
transom::lowerToLlvm(mlir::ModuleOp module,
                     const std::vector<const InstructionSet *> &isas) {
  DiagnosticCollector diagnostics(*module.getContext());
  std::vector<IsaModule> modules;
  for (const InstructionSet *isa : isas) {
    auto lowered = lowerModule(module, isa->name);
    if (mlir::failed(lowered))
      return diagnostics.error(Status::Internal, "lowering failed");
    TRANSOM_ASSIGN(IsaModule code, translate(**lowered, *isa));
    modules.push_back(std::move(code));
  }
  return Result<std::vector<IsaModule>>(std::move(modules));
}

/// Optimizes and generates one; frees its IR.
static Result<std::string> generateOne(IsaModule code,
                                       const CodeOptions &options) {
  TRANSOM_TRY(optimize(code, options.level));
  return emitCode(code, options.kind);
}

Result<std::vector<IsaObject>> transom::generate(std::vector<IsaModule> modules,
                                                 const CodeOptions &options) {
  unsigned jobs = options.jobs;
  if (jobs == 0)
    jobs = std::max(1u, std::thread::hardware_concurrency());
  std::vector<Result<std::string>> results(
      modules.size(), Result<std::string>(internalError("not generated")));
  std::vector<IsaObject> objects;
  for (const IsaModule &code : modules)
    objects.push_back({code.isa->name, {}});
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < modules.size(); i = next++)
      results[i] = generateOne(std::move(modules[i]), options);
  };
  std::vector<std::thread> team;
  for (size_t i = 1; i < std::min<size_t>(jobs, modules.size()); ++i)
    team.emplace_back(work);
  work();
  for (std::thread &thread : team)
    thread.join();
  for (size_t i = 0; i < objects.size(); ++i) {
    if (!results[i])
      return results[i].takeError();
    objects[i].object = std::move(*results[i]);
  }
  return Result<std::vector<IsaObject>>(std::move(objects));
}
