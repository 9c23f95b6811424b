// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who reads and writes a buffer, and which weights a value stands for.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {

/// The only operation that reads this buffer, when it is an alloc that is
/// neither viewed nor handed to layers; else null.
mlir::Operation *onlyReader(mlir::Value buffer);

/// What reads a buffer besides one operation, through views too, as a remark
/// names it.
std::string getBufferReaders(mlir::Value buffer,
                             mlir::Operation *except = nullptr);

/// The activation when the region only applies one to its argument.
std::optional<Activation> getActivation(kern::ElementwiseOp op);

/// Removes a weight value that nothing reads any more: the parameter of a body
/// goes from the layers that call it, too.
void eraseWeight(mlir::Value weight);

/// The weight symbols of each value of weight type, with the layer bodies'
/// parameters resolved through their layers.
class WeightUses {
public:
  explicit WeightUses(mlir::ModuleOp module);

  /// The definitions that a weight value may stand for.
  llvm::SmallVector<kern::WeightOp> definitions(mlir::Value weight) const;
  /// The values that stand for a definition.
  llvm::ArrayRef<mlir::Value> getValues(kern::WeightOp definition) const;
  /// True when a single operation reads any of these definitions.
  bool hasOneUse(mlir::Value weight) const;
  /// Gives the definitions, and every value that stands for one of them, the
  /// type that `change` makes of theirs.
  void retype(mlir::Value weight,
              llvm::function_ref<kern::WeightType(kern::WeightType)> change);

private:
  mlir::SymbolTable symbols;
  /// Parameters of layer bodies → symbols of all layers.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::StringAttr>> parameters;
  /// Symbol → the values that stand for it.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> values;
};

} // namespace transom
