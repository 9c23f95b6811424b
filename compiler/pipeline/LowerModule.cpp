// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs all passes in the stage `llvm-ir` on a copy of a module. The copy is
// verified once, at the end, to save compile time; tests run the same passes in
// transom-opt, which verifies after each.
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

uint64_t transom::getNumLowerPasses() {
  return llvm::count_if(getPasses(), [](const transom::PassInfo &pass) {
    return pass.stage == Stage::LlvmIr;
  });
}

FailureOr<OwningOpRef<ModuleOp>>
transom::lowerModule(ModuleOp module, const std::string &isa,
                     const LoweringEvents &events) {
  OwningOpRef<ModuleOp> code(module.clone());
  PipelineOptions options;
  options.isa = isa;
  for (const transom::PassInfo &pass : getPasses()) {
    if (pass.stage != Stage::LlvmIr)
      continue;
    if (events.willRun)
      events.willRun(pass, *code);
    PassManager passes(module.getContext());
    passes.enableVerifier(false);
    passes.addPass(pass.create(options));
    if (failed(passes.run(*code)) ||
        (events.passDone && !events.passDone(pass, *code)))
      return failure();
  }
  if (failed(verify(*code)))
    return failure();
  return code;
}
