// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers for the kern verifiers: operand sizes, their text in messages, and
// constraints shared by many operations.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom::kern::rules {

using Sizes = llvm::SmallVector<Polynomial>;

/// Dimensions of a buffer or weight.
Sizes getSizes(mlir::Value value);
/// `[rows, 768]`.
std::string text(llvm::ArrayRef<Polynomial> sizes);
/// Multiplies sizes.
Polynomial product(llvm::ArrayRef<Polynomial> sizes);

/// A numbered constraint in an operation's description.
struct Constraint {
  mlir::Operation *op;
  int number;

  /// Begins the error for an operation that violates the constraint:
  /// `'kern.norm' op (3) expects `.
  mlir::InFlightDiagnostic expects() const {
    return op->emitOpError("(") << number << ") expects ";
  }
};

/// True for a buffer with this element type.
bool isF32(mlir::Value buffer);
bool isBf16(mlir::Value buffer);
/// True for bf16 or i8 rows.
bool isRoundedRows(mlir::Value buffer);
/// True for a buffer without stride and key panels.
bool isDense(mlir::Value buffer);

/// Fails unless both buffers have equal sizes.
mlir::LogicalResult verifySameSizes(Constraint constraint, const char *names,
                                    mlir::Value a, mlir::Value b);
/// Fails unless both buffers have the same element type.
mlir::LogicalResult verifySameElements(Constraint constraint, const char *names,
                                       mlir::Value a, mlir::Value b);
/// Fails unless the value is an f32 buffer in rows.
mlir::LogicalResult verifyRowsOfF32(Constraint constraint, const char *name,
                                    mlir::Value buffer);
/// Fails unless the value is an f32 or bf16 buffer in rows.
mlir::LogicalResult verifyRowsOfFloat(Constraint constraint, const char *name,
                                      mlir::Value buffer);
/// Fails unless the weight is a vector with `size` elements in this layout, or
/// unset.
mlir::LogicalResult verifyVector(Constraint constraint, const char *name,
                                 mlir::Value weight, int64_t size,
                                 WeightLayout layout);
/// Fails unless a weight is in this layout or has none yet.
mlir::LogicalResult verifyLayout(Constraint constraint, const char *name,
                                 mlir::Value weight, WeightLayout layout);
/// Fails unless `summary` is two buffers with the input's leading sizes,
/// followed by the number of column groups.
mlir::LogicalResult verifySummary(Constraint constraint, mlir::Value input,
                                  mlir::ValueRange summary);
/// Fails unless `scales` are f32 rows with two columns for each group of input
/// columns.
mlir::LogicalResult verifyScales(Constraint constraint, mlir::Value input,
                                 mlir::Value scales, int64_t group);
/// Fails unless a GEMM's input matches its weight: the input has the format's
/// operand type, or f32 if the weight is quantized; `scales` are present if and
/// only if the input is i8; and k is a multiple of a quantized weight's
/// interleave. The arguments are the constraint numbers.
mlir::LogicalResult verifyProductInput(WeightProductOp op, int type, int scales,
                                       int depth);
/// Fails unless `scales` are present if and only if the elements are quantized,
/// with a supported group size.
mlir::LogicalResult verifyQuantized(Constraint constraint, mlir::Value numbers,
                                    mlir::Value scales);
/// Fails unless the text is a polynomial.
mlir::LogicalResult verifySize(Constraint constraint, const char *name,
                               llvm::StringRef size);

/// Fails unless each weight in the module has its own offset in a section with
/// this many bytes.
mlir::LogicalResult verifyWeightOffsets(mlir::Operation *module, int64_t bytes);
/// Fails unless each cache in the module has its own offset in a block of its
/// group.
mlir::LogicalResult verifyCacheOffsets(mlir::Operation *module,
                                       mlir::ArrayAttr groups);

/// Fails unless simultaneously live buffers are disjoint in an entry's arena,
/// for all sizes.
mlir::LogicalResult verifyBufferOffsets(mlir::Operation *function,
                                        mlir::ArrayAttr buffers);

} // namespace transom::kern::rules
