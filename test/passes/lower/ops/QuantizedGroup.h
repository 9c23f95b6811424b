// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group that is quantized by plain loops.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace transom::test {

/// One group as plain loops quantize it.
struct QuantizedGroup {
  float scale, sum;
  std::vector<int8_t> numbers;
};

inline QuantizedGroup quantize(const float *group, int64_t count) {
  QuantizedGroup made{0, 0.0f, std::vector<int8_t>(count)};
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(group[i])) {
      made.scale = NAN;
      return made;
    }
    largest = std::max(largest, std::fabs(group[i]));
  }
  if (largest <= 0x1p-100f)
    return made;
  int64_t sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    made.numbers[i] =
        static_cast<int8_t>(std::nearbyint(group[i] * (127 / largest)));
    sum += made.numbers[i];
  }
  made.scale = largest / 127;
  made.sum = static_cast<float>(sum);
  return made;
}

/// Equal bits, or both NaN.
inline bool isSame(float a, float b) {
  return std::memcmp(&a, &b, 4) == 0 || (std::isnan(a) && std::isnan(b));
}

} // namespace transom::test
