// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a mask between matmul and softmax, independent of the values that
// express it.
#pragma once
#include "passes/graph/AttentionMatch.h"
#include <optional>

namespace transom {

/// A longer chain of scales and masks does not count as attention.
inline constexpr int maxLinks = 32;

/// Returns the constant factor in a `mul`, `div` or `scale`, and sets `input`
/// to the other operand. Nullopt, with `input` unchanged, for another
/// operation.
std::optional<double> constantFactor(mlir::Operation *op, mlir::Value &input);

/// A bool mask that hides with a value.
MaskLink hidingMask(mlir::Value mask, bool inverted, double value);

/// Converts a float mask that is 0 where a bool mask shows keys and hides
/// elsewhere.
std::optional<MaskLink> additiveAsBool(mlir::Value value, double factor);

/// Returns the mask with which an operation sets probabilities to zero: a 0/1
/// factor, or a selection between them and zero. Null for another operation.
mlir::Value findMaskOfProbabilities(mlir::Operation *op,
                                    mlir::Value probabilities);

/// Splits a mask into masks that together hide the same keys: the operands of
/// `and`, an inverted `or` or a 0/1 `mul`, and the terms in an added sum. A
/// mask that cannot be split is returned unchanged.
llvm::SmallVector<MaskLink> splitMask(const MaskLink &link);

/// The difference between a constant mask and a causal mask, which shows keys
/// up to the diagonal and hides all others.
struct TriangleDifference {
  int64_t entries = 0;         ///< compared elements
  int64_t wrong = 0;           ///< different ones; 0 for a causal mask
  int64_t row = 0, column = 0; ///< the first difference
  /// The one finite value that hides all others; absent if minus infinity hides
  /// them.
  std::optional<double> hidesWith;
};

/// Compares a mask whose elements follow from constants; nullopt for another
/// mask.
std::optional<TriangleDifference> compareWithTriangle(const MaskLink &link);

} // namespace transom
