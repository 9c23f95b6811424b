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
  /// Gives the definitions, and every value that stands for one of them, the
  /// type that `change` makes of theirs.
  void retype(mlir::Value weight,
              llvm::function_ref<kern::WeightType(kern::WeightType)> change);
  /// Gives a weight the format, with all values of the same definitions, if all
  /// their uses can read it; else returns a reader of f32 alone.
  mlir::Operation *setFormat(mlir::Value weight, const OperandFormat &format);

private:
  mlir::SymbolTable symbols;
  /// Parameters of layer bodies → symbols of all layers.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::StringAttr>> parameters;
  /// Symbol → the values that stand for it.
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> values;
};

/// What a pass wants to make of the weights that some operations read. `kind`
/// tells changes apart: an operation with the same weights and an equal kind
/// wants the same.
struct WeightChange {
  struct Reader {
    mlir::Operation *op;
    std::string kind;
  };
  llvm::SmallVector<Reader> readers;
};

/// The changes that all readers of each weight want, by index: a weight that
/// several entries or layers read is there once.
llvm::SmallVector<bool> findAgreedChanges(const WeightUses &uses,
                                          llvm::ArrayRef<WeightChange> changes);

} // namespace transom
