// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds operations that influence an entry result or a cache.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

namespace transom::testing {

/// Follows values and buffer contents back from the results. If a buffer is
/// written several times, all writers count.
class LiveOperations {
public:
  explicit LiveOperations(mlir::ModuleOp module);

  /// Returns whether an operation with an influence reads this weight or cache.
  bool contains(mlir::Operation *op) const { return operations.count(op); }

private:
  void add(mlir::Value value);
  void add(mlir::Operation *op);
  /// An operation whose memory or nested operations have an influence.
  bool hasEffect(mlir::Operation *op) const;
  void addBodies(mlir::Operation *layers);
  void visit();

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseSet<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> values;
  bool changed = false;
};

} // namespace transom::testing
