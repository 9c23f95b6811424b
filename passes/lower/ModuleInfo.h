// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries on a planned kern module: the entry that calls a layer body, and the
// call operand for a body parameter. Also holds the remarks for its operations.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {
class Remarks;
} // namespace transom

namespace transom::lower {

class ModuleInfo {
public:
  ModuleInfo(mlir::ModuleOp module, Remarks &remarks);

  /// Lowerings report their choices here.
  Remarks &getRemarks() const { return remarks; }

  /// The owner of a buffer's memory: follows views, and goes from a layer body
  /// argument to the operand at the call site.
  mlir::Value getStorage(mlir::Value buffer) const;
  /// The entry that contains a function: the function itself, or the caller if
  /// it is a layer body.
  mlir::func::FuncOp getEntry(mlir::func::FuncOp function) const;
  /// The frame index of a symbol in an entry; -1 if the entry lacks it.
  int64_t getSymbolIndex(mlir::func::FuncOp entry, llvm::StringRef name) const;
  /// A weight's byte offset in the artifact.
  int64_t getWeightOffset(mlir::FlatSymbolRefAttr weight) const;
  /// Cache definition. For a layer body parameter, the first layer's cache; the
  /// caches in all layers belong to one group.
  kern::CacheOp getCache(mlir::Value cache) const;
  /// The GEMM whose weight is read after the one in `op`, and whether it
  /// belongs to the next layer. Null if no GEMM follows.
  std::pair<kern::GemmOp, bool> getNextProduct(kern::GemmOp op) const;
  /// A layer body parameter's index in the layer's offset table; the parameter
  /// is a weight or a cache.
  int64_t getOffsetIndex(mlir::BlockArgument parameter) const;
  /// The offset count in a layer's table, for the body with this parameter.
  int64_t getNumOffsets(mlir::BlockArgument parameter) const;

private:
  void findNextProducts(mlir::func::FuncOp function);

  mlir::SymbolTable symbols;
  Remarks &remarks;
  /// The op that calls a layer body, by body function.
  llvm::DenseMap<mlir::Operation *, kern::LayersOp> callSites;
  /// The first GEMM in a later phase, or else in the function; by phase.
  llvm::DenseMap<mlir::Operation *, std::pair<kern::GemmOp, bool>> nextProducts;
};

} // namespace transom::lower
