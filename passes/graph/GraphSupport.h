// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for graph passes: create operations with inferred types, read
// constants, erase dead operations, and follow masks to their origin.
#pragma once
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

namespace transom {

/// The symbolic sizes in a tensor type.
using Dims = llvm::SmallVector<Polynomial>;

/// Sets the result types by the operation's shape rule; emits an error at its
/// location and fails if the rule is violated.
mlir::LogicalResult setInferredTypes(mlir::Operation *op);

/// Creates an operation with one result and infers its type; `args` are the
/// builder arguments after the result type. If the shape rule is violated, an
/// error is emitted and the result remains unranked, so the verifier stops the
/// pipeline.
template <typename Op, typename... Args>
Op createInferred(mlir::OpBuilder &builder, mlir::Location loc,
                  Args &&...args) {
  mlir::Type open = mlir::UnrankedTensorType::get(builder.getF32Type());
  auto op = builder.create<Op>(loc, open, std::forward<Args>(args)...);
  (void)setInferredTypes(op);
  return op;
}

/// Reshapes a value to these sizes. Returns the value itself, or the input to
/// the reshape that defines it, if its sizes match already.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<Polynomial> dims);

/// `attn.constant` with one float, `tensor<1xf32>`.
mlir::Value createScalar(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Type element, double value);

/// The value in an `attn.constant` with one element, or with equal elements.
std::optional<double> constantNumber(mlir::Value value);

/// The sizes of a value; empty unless it is a ranked tensor.
Dims getDims(mlir::Value value);

/// The format for the integers that files contain for a weight: empty if they
/// contain none, `rounded` if no format represents them.
std::string getStoredFormat(attn::WeightOp weight);

/// Erases unused operations without side effects, in reverse order.
void eraseDeadOps(mlir::Block &block);

/// The public functions with a body.
llvm::SmallVector<mlir::func::FuncOp> getEntries(mlir::ModuleOp module);

/// The index of the step result with the logits for listed tokens; 0 if absent.
/// The step's last argument lists the tokens.
unsigned findListedLogits(mlir::func::FuncOp entry);

/// The axes along which a bool or 0/1 tensor `[batch, ...]` repeats a mask
/// `[batch, seq]`: the tensor is the mask along these axes, combined by `and`;
/// all other axes but the first have size 1. Nullopt for any other tensor.
/// Follows casts, reshapes that add or drop sizes of 1, transposes, `and`, and
/// `mul`.
std::optional<llvm::SmallVector<int64_t>> maskAxes(mlir::Value value,
                                                   mlir::Value mask);

} // namespace transom
