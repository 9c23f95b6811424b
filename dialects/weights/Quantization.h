// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How numbers become whole numbers with a scale.
#pragma once
#include "runtime/base/OperandFormat.h"
#include <cmath>

namespace transom {

/// What the numbers of a group are: whole numbers * scale + minimum.
struct GroupScale {
  float scale = 0, minimum = 0;
};

/// The number that a whole number of a group is, as code computes it.
inline float dequantize(const OperandFormat &format, int64_t whole,
                        GroupScale group) {
  const auto number = static_cast<float>(whole);
  return format.minimums ? std::fma(number, group.scale, group.minimum)
                         : number * group.scale;
}

/// Makes the numbers of a group of a weight whole, as the format stores them,
/// and gives their scale and, where the format has such, their minimum: those
/// of the least squared error that is found from some first ones on. The scale
/// is NaN if a number is not finite or the scale has no place in its type, and
/// 0 if all numbers are too small for it. `importance`, one for each number:
/// what its squared error is multiplied by; null: 1.
GroupScale quantizeGroup(const float *numbers, int64_t count,
                         const OperandFormat &format, int8_t *out,
                         const float *importance = nullptr);

} // namespace transom
