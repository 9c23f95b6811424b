// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries on a planned kern module: which entry calls a layer body, and what a
// parameter of the body stands for at its call site. Remarks on its operations
// go through it, too.
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

  /// Where lowerings report what they choose.
  Remarks &getRemarks() const { return remarks; }

  /// The owner of a buffer's memory: follows views, and from a layer body's
  /// argument the operand at the call site.
  mlir::Value getStorage(mlir::Value buffer) const;
  /// The entry that a function belongs to: the function itself, or the caller
  /// of a layer body.
  mlir::func::FuncOp getEntry(mlir::func::FuncOp function) const;
  /// Index of a symbol in the frame of an entry; -1 when the entry lacks it.
  int64_t getSymbolIndex(mlir::func::FuncOp entry, llvm::StringRef name) const;
  /// Byte offset of a weight in the artifact.
  int64_t getWeightOffset(mlir::FlatSymbolRefAttr weight) const;
  /// The definition of a cache. For a layer body's parameter it is the cache of
  /// the first layer; the caches of all layers are of one group.
  kern::CacheOp getCache(mlir::Value cache) const;
  /// The product whose weight is read after that of `op`, and whether it is one
  /// of the next layer. Null without a next product.
  std::pair<kern::GemmOp, bool> getNextProduct(kern::GemmOp op) const;
  /// Position of a layer body's weight or cache in the layer's table of
  /// offsets.
  int64_t getOffsetIndex(mlir::BlockArgument parameter) const;
  /// Number of offsets in a layer's table, for the body with this parameter.
  int64_t getNumOffsets(mlir::BlockArgument parameter) const;

private:
  void findNextProducts(mlir::func::FuncOp function);

  mlir::SymbolTable symbols;
  Remarks &remarks;
  /// The op that calls a layer body, by the body's function.
  llvm::DenseMap<mlir::Operation *, kern::LayersOp> callSites;
  /// The first product of a later phase, else of the function; by phase.
  llvm::DenseMap<mlir::Operation *, std::pair<kern::GemmOp, bool>> nextProducts;
};

} // namespace transom::lower
