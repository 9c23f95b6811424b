// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hands a module to the generator of an instruction set.
#include "compiler/pipeline/LowerStage.h"
#include "passes/lower/Lower.h"

using namespace mlir;

FailureOr<OwningOpRef<ModuleOp>> transom::lowerForIsa(ModuleOp module,
                                                      llvm::StringRef isa) {
  const InstructionSet *generator = findInstructionSet(isa);
  if (!generator)
    return module.emitError("no kernels are generated for instruction set '")
           << isa << "'";
  return lower::lowerToLLVM(module, *generator);
}
