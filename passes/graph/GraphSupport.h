// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the graph passes share: operations made with their inferred type,
// constants read, dead operations erased, and masks followed to their origin.
#pragma once
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace transom {

/// The symbolic sizes of a tensor.
using Dims = llvm::SmallVector<Polynomial>;

/// Gives the results of an operation the types of its shape rule; emits an
/// error at its location and fails where the rule is broken.
mlir::LogicalResult setInferredTypes(mlir::Operation *op);

/// Creates an operation with one result of the inferred type; `args` as of its
/// builder after the result type. A broken rule is reported; the result then
/// stays unranked, and the verifier stops the pipeline.
template <typename Op, typename... Args>
Op createInferred(mlir::OpBuilder &builder, mlir::Location loc,
                  Args &&...args) {
  mlir::Type open = mlir::UnrankedTensorType::get(builder.getF32Type());
  auto op = builder.create<Op>(loc, open, std::forward<Args>(args)...);
  (void)setInferredTypes(op);
  return op;
}

/// `attn.reshape` to these sizes; the value itself, or what it was reshaped
/// from, where that has them already.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<Polynomial> dims);

/// `attn.constant` of one float, `tensor<1xf32>`.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type element, double value);

/// The number that an `attn.constant` of one element, or of equal elements,
/// holds.
std::optional<double> constantNumber(mlir::Value value);

/// Sizes of a value; empty for what is no ranked tensor.
Dims getDims(mlir::Value value);

/// The format that holds the whole numbers which files have of a weight:
/// `rounded` where none does, empty where files have no whole numbers.
std::string getStoredFormat(attn::WeightOp weight);

/// Erases operations without effects and uses, last first.
void eraseDeadOps(mlir::Block &block);

/// The functions that are entry points: public, with a body.
llvm::SmallVector<mlir::func::FuncOp> getEntries(mlir::ModuleOp module);

/// The index of the result of a step that is the logits of listed tokens; 0
/// without one. The step's last argument then lists them.
unsigned findListedLogits(mlir::func::FuncOp entry);

/// How a bool, or 0/1, tensor `[batch, ...]` repeats a mask `[batch, seq]`: it
/// is the `and` of the mask read along each of these axes; all others but the
/// first are 1. Nothing where it is no such tensor. Follows casts, reshapes
/// that add or drop sizes of 1, transposes, `and`, and products.
std::optional<llvm::SmallVector<int64_t>> maskAxes(mlir::Value value,
                                                   mlir::Value mask);

} // namespace transom
