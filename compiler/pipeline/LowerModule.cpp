// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the passes of the stage `llvm-ir` on a copy of a module. The copy is
// verified once, at the end, to save compile time; tests run the same passes in
// transom-opt, which verifies after each.
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

FailureOr<OwningOpRef<ModuleOp>> transom::lowerModule(ModuleOp module,
                                                      const std::string &isa) {
  OwningOpRef<ModuleOp> code(module.clone());
  PassManager passes(module.getContext());
  passes.enableVerifier(false);
  PipelineOptions options;
  options.isa = isa;
  populateStage(passes, Stage::LlvmIr, options);
  if (failed(passes.run(*code)) || failed(verify(*code)))
    return failure();
  return code;
}
