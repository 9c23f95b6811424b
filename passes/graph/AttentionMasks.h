// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a mask between product and softmax means, whatever numbers it is written
// with.
#pragma once
#include "passes/graph/AttentionMatch.h"
#include <optional>

namespace transom {

/// A longer chain of scales and masks is no attention.
inline constexpr int maxLinks = 32;

/// A constant factor of a `mul`, `div` or `scale`, and the operand it
/// multiplies; nothing, with `input` unchanged, for another operation.
std::optional<double> constantFactor(mlir::Operation *op, mlir::Value &input);

/// A bool mask that hides with a number.
MaskLink hidingMask(mlir::Value mask, bool inverted, double value);

/// A float mask that is 0 where a bool mask lets pass, and hides elsewhere.
std::optional<MaskLink> additiveAsBool(mlir::Value value, double factor);

/// The mask with which an operation sets probabilities to zero: a factor of 0
/// and 1, or a choice between them and zero. Null for another operation.
mlir::Value findMaskOfProbabilities(mlir::Operation *op,
                                    mlir::Value probabilities);

/// The masks that hide together what one mask hides: operands of `and`, of an
/// inverted `or`, of a product of 0 and 1, and terms of a sum that is added. A
/// mask that is not made of others is returned as it is.
llvm::SmallVector<MaskLink> splitMask(const MaskLink &link);

/// How a constant mask differs from one that shows keys up to the diagonal and
/// hides all others.
struct TriangleDifference {
  int64_t entries = 0;         ///< of the constant
  int64_t wrong = 0;           ///< that differ; 0: it is a triangle
  int64_t row = 0, column = 0; ///< of the first that differs
  /// The one finite number that hides all others; nothing where minus infinity
  /// hides.
  std::optional<double> hidesWith;
};

/// Compares a mask whose elements follow from constants; nothing for another
/// mask.
std::optional<TriangleDifference> compareWithTriangle(const MaskLink &link);

} // namespace transom
