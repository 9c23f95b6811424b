// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds operations in lowered code that influence the memory it writes.
#pragma once
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace transom::testing {

/// Follows values back from all stores. Prefetched values do not count, nor do
/// values that a called function does not use.
class LiveCode {
public:
  explicit LiveCode(mlir::ModuleOp module);

  bool contains(mlir::Operation *op) const { return operations.count(op); }
  bool isUsed(mlir::Value value) const { return values.count(value); }

  /// The functions that a call may run: the named one or the one whose address
  /// it has; a kernel table contributes all its functions.
  llvm::SmallVector<mlir::LLVM::LLVMFuncOp>
  getCallees(mlir::LLVM::CallOp call) const;
  /// The functions from which a function can be reached, itself included.
  llvm::DenseSet<mlir::Operation *>
  getCallers(mlir::LLVM::LLVMFuncOp function) const;

private:
  void add(mlir::Operation *op);
  void add(mlir::Value value);
  void addResult(mlir::OpResult result);
  void addArgument(mlir::BlockArgument argument);
  void addCall(mlir::LLVM::CallOp call);
  void visit();

  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<mlir::LLVM::LLVMFuncOp>>
      callees; ///< by call
  llvm::DenseSet<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> values;
  llvm::SmallVector<mlir::Value> waiting;
};

} // namespace transom::testing
