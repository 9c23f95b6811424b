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
/// multiplies.
std::optional<double> constantFactor(mlir::Operation *op, mlir::Value &input);

/// A bool mask that hides with a number.
MaskLink hidingMask(mlir::Value mask, bool inverted, double value);

/// A float mask that is 0 where a bool mask lets pass, and hides elsewhere.
std::optional<MaskLink> additiveAsBool(mlir::Value value, double factor);

/// True for a mask that is cut, from its first row and column on, from a
/// constant `[n, n]` that shows keys up to the diagonal and hides all others.
bool isTriangle(const MaskLink &link);

} // namespace transom
