// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the verifiers of the kern dialect share: sizes of operands, their text
// in messages, and constraints that many operations have.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom::kern::rules {

using Sizes = llvm::SmallVector<Polynomial>;

/// The dimensions of a buffer or weight.
Sizes getSizes(mlir::Value value);
/// `[rows, 768]`.
std::string text(llvm::ArrayRef<Polynomial> sizes);
/// The product of sizes.
Polynomial product(llvm::ArrayRef<Polynomial> sizes);

/// A numbered constraint in the description of an operation.
struct Constraint {
  mlir::Operation *op;
  int number;

  /// Begins the error of an operation that breaks the constraint:
  /// `'kern.norm' op (3) expects `.
  mlir::InFlightDiagnostic expects() const {
    return op->emitOpError("(") << number << ") expects ";
  }
};

/// True for a buffer of this element type.
bool isF32(mlir::Value buffer);
bool isBf16(mlir::Value buffer);
/// True for rows of bf16 or i8.
bool isRoundedRows(mlir::Value buffer);
/// True for a buffer without stride and key panels.
bool isDense(mlir::Value buffer);

/// Fails unless both buffers have equal sizes.
mlir::LogicalResult verifySameSizes(Constraint constraint, const char *names,
                                    mlir::Value a, mlir::Value b);
/// Fails unless both buffers have one element type.
mlir::LogicalResult verifySameElements(Constraint constraint, const char *names,
                                       mlir::Value a, mlir::Value b);
/// Fails unless the value is a buffer of f32 in rows.
mlir::LogicalResult verifyRowsOfF32(Constraint constraint, const char *name,
                                    mlir::Value buffer);
/// Fails unless the value is a buffer of f32 or bf16 in rows.
mlir::LogicalResult verifyRowsOfFloat(Constraint constraint, const char *name,
                                      mlir::Value buffer);
/// Fails unless the weight is a vector of `size` in this layout, or unset.
mlir::LogicalResult verifyVector(Constraint constraint, const char *name,
                                 mlir::Value weight, int64_t size,
                                 WeightLayout layout);
/// Fails unless a weight is in this layout or in none yet.
mlir::LogicalResult verifyLayout(Constraint constraint, const char *name,
                                 mlir::Value weight, WeightLayout layout);
/// Fails unless `summary` is two buffers with the input's leading sizes, then a
/// number for each group of its columns.
mlir::LogicalResult verifySummary(Constraint constraint, mlir::Value input,
                                  mlir::ValueRange summary);
/// Fails unless `scales` are rows of f32 with two columns for each group of the
/// input's columns.
mlir::LogicalResult verifyScales(Constraint constraint, mlir::Value input,
                                 mlir::Value scales, int64_t group);
/// Fails unless the input of a product is what its weight is multiplied with:
/// of the format's operand type, or f32 beside whole numbers; `scales` are
/// given exactly beside an input of i8; and k is a multiple of the interleave
/// of whole numbers. The arguments are the numbers of these constraints.
mlir::LogicalResult verifyProductInput(WeightProductOp op, int type, int scales,
                                       int depth);
/// Fails unless `scales` are given exactly where the numbers are quantized, and
/// are those of groups of them that quantization knows.
mlir::LogicalResult verifyQuantized(Constraint constraint, mlir::Value numbers,
                                    mlir::Value scales);
/// Fails unless the text is a polynomial.
mlir::LogicalResult verifySize(Constraint constraint, const char *name,
                               llvm::StringRef size);

/// Fails unless each weight of the module has an offset of its own in a section
/// of so many bytes.
mlir::LogicalResult verifyWeightOffsets(mlir::Operation *module, int64_t bytes);
/// Fails unless each cache of the module has an offset of its own in a block of
/// its group.
mlir::LogicalResult verifyCacheOffsets(mlir::Operation *module,
                                       mlir::ArrayAttr groups);

/// Fails unless the buffers that live at once share no byte of the arena of an
/// entry, whatever the sizes are.
mlir::LogicalResult verifyBufferOffsets(mlir::Operation *function,
                                        mlir::ArrayAttr buffers);

} // namespace transom::kern::rules
