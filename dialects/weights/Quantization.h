// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantization: conversion of values to integers with a scale.
#pragma once
#include "runtime/base/OperandFormat.h"
#include <cmath>

namespace transom {

/// Group parameters: a value is integer * scale + minimum.
struct GroupScale {
  float scale = 0, minimum = 0;
};

/// Dequantizes an integer, with the same rounding as generated code.
inline float dequantize(const OperandFormat &format, int64_t whole,
                        GroupScale group) {
  const auto number = static_cast<float>(whole);
  return format.minimums ? std::fma(number, group.scale, group.minimum)
                         : number * group.scale;
}

/// Quantizes a weight group to the format's integers, and returns its scale
/// and, if the format has minimums, its minimum: the least squares result among
/// several starting points. The scale is NaN if a value is not finite or the
/// scale is out of range for its type, and 0 if all values are too small.
/// `importance`: factors for the squared errors, one per value; null: 1.
GroupScale quantizeGroup(const float *numbers, int64_t count,
                         const OperandFormat &format, int8_t *out,
                         const float *importance = nullptr);

} // namespace transom
