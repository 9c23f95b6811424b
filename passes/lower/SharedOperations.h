// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One function for all operations of a large module that differ only in the
// buffers, weights and caches that they access. Phases call it, so that the
// time of code generation depends on the number of distinct operations.
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

  /// Emits a call of the function of an operation in a phase. The first call
  /// creates the function, in which `lower` emits the operation.
  mlir::LogicalResult emitCall(PhaseEmitter &e, mlir::Operation &op,
                               Lower lower);

private:
  /// An operand whose number (`PhaseEmitter::number`) is an argument of the
  /// function.
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
  llvm::StringMap<mlir::LLVM::LLVMFuncOp> functions; ///< by the text of the key
};

} // namespace transom::lower
