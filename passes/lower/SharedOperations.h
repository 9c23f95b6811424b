// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits one function for all operations in a large module that differ only in
// their buffers, weights and caches. Phases call it, so code generation time
// depends on the number of distinct operations.
#pragma once
#include "passes/lower/PhaseEmitter.h"
#include "llvm/ADT/StringMap.h"

namespace transom::lower {

class SharedOperations {
public:
  using Lower = llvm::function_ref<mlir::LogicalResult(PhaseEmitter &,
                                                       mlir::Operation &)>;

  SharedOperations(const ModuleInfo &info, mlir::ModuleOp target,
                   MicroKernels &kernels)
      : info(info), target(target), kernels(kernels) {}

  int64_t getNumFunctions() const { return functions.size(); }

  /// Emits a call to an operation's function in a phase. The first call creates
  /// the function, in which `lower` emits the operation.
  mlir::LogicalResult emitCall(PhaseEmitter &e, mlir::Operation &op,
                               Lower lower);

private:
  /// An operand whose number (`PhaseEmitter::number`) is a function argument.
  struct Numbered {
    mlir::Value owner;
    unsigned layersAhead;
  };
  class Key;

  mlir::FailureOr<mlir::LLVM::LLVMFuncOp>
  createFunction(mlir::Operation &op, llvm::ArrayRef<Numbered> operands,
                 Lower lower);

  const ModuleInfo &info;
  mlir::ModuleOp target;
  MicroKernels &kernels;
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> functions; ///< by the key's string
};

} // namespace transom::lower
