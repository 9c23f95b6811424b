// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffer readers and writers, and the weights that a value refers to.
#pragma once
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace transom {

/// The only reader of an alloc that has no views and is not passed to layers;
/// null otherwise.
mlir::Operation *onlyReader(mlir::Value buffer);

/// Lists the operations that read a buffer, also through views, except one; for
/// remarks.
std::string getBufferReaders(mlir::Value buffer,
                             mlir::Operation *except = nullptr);

/// The activation if the region only applies one to its argument; nullopt
/// otherwise.
std::optional<Activation> getActivation(kern::ElementwiseOp op);

/// Erases a weight value without readers; a body parameter is also removed from
/// the layers that call the body.
void eraseWeight(mlir::Value weight);

/// The weight symbols for each weight value; layer body parameters are resolved
/// through their layers.
class WeightUses {
public:
  explicit WeightUses(mlir::ModuleOp module);

  /// The definitions that a weight value may refer to.
  llvm::SmallVector<kern::WeightOp> definitions(mlir::Value weight) const;
  /// The values that refer to a definition.
  llvm::ArrayRef<mlir::Value> getValues(kern::WeightOp definition) const;
  /// Applies `change` to the types of a weight's definitions and all values
  /// that refer to them.
  void retype(mlir::Value weight,
              llvm::function_ref<kern::WeightType(kern::WeightType)> change);
  /// Changes the format for a weight and all values with the same definitions
  /// if their users can read it; otherwise returns a user that reads only f32.
  mlir::Operation *setFormat(mlir::Value weight, const OperandFormat &format);

private:
  mlir::SymbolTable symbols;
  /// Layer body parameters → symbols in all layers.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::StringAttr>> parameters;
  /// Symbol → the values that refer to it.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> values;
};

/// A change that a pass plans for the weights of some operations. `kind`
/// identifies the change: an operation with the same weights and an equal kind
/// needs the same change.
struct WeightChange {
  struct Reader {
    mlir::Operation *op;
    std::string kind;
  };
  llvm::SmallVector<Reader> readers;
};

/// Whether all readers of each affected weight agree on a change, by index. A
/// weight that several entries or layers read is counted once.
llvm::SmallVector<bool> findAgreedChanges(const WeightUses &uses,
                                          llvm::ArrayRef<WeightChange> changes);

} // namespace transom
