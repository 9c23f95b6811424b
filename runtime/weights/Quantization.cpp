// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scale of a group and its whole numbers in turn: with the numbers fixed,
// the best scale is that of a regression. Compiled without contraction, so that
// every CPU finds the same.
#include "runtime/weights/Quantization.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace transom;

/// Steps after which the scale changes no more, mostly.
static constexpr int maxSteps = 4;

namespace {
/// Whole numbers of one scale, and how far they are from the numbers.
struct Rounded {
  float scale = 0;
  double error = 0;
  std::vector<int8_t> numbers;
};
} // namespace

static Rounded roundWith(float scale, const float *numbers, int64_t count,
                         double limit) {
  Rounded rounded;
  rounded.scale = scale;
  rounded.numbers.resize(count);
  for (int64_t i = 0; i < count; ++i) {
    const double whole =
        std::clamp(std::nearbyint(double(numbers[i]) / scale), -limit, limit);
    const double difference = numbers[i] - whole * scale;
    rounded.error += difference * difference;
    rounded.numbers[i] = static_cast<int8_t>(whole);
  }
  return rounded;
}

/// The scale with which these whole numbers are nearest.
static float getBestScale(const Rounded &rounded, const float *numbers) {
  double products = 0, squares = 0;
  for (size_t i = 0; i < rounded.numbers.size(); ++i) {
    const double whole = rounded.numbers[i];
    products += numbers[i] * whole;
    squares += whole * whole;
  }
  return static_cast<float>(products / squares);
}

float transom::quantizeGroup(const float *numbers, int64_t count,
                             StorageType type, int8_t *out) {
  std::fill_n(out, count, int8_t(0));
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(numbers[i]))
      return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, std::fabs(numbers[i]));
  }
  const auto limit = static_cast<double>(getMaxMagnitude(type));
  const auto first = static_cast<float>(largest / limit);
  // Products with a denormal scale would be zero.
  if (first < std::numeric_limits<float>::min())
    return 0;

  Rounded best = roundWith(first, numbers, count, limit);
  for (int step = 0; step < maxSteps; ++step) {
    Rounded next =
        roundWith(getBestScale(best, numbers), numbers, count, limit);
    if (!(next.error < best.error))
      break;
    best = std::move(next);
  }
  std::copy(best.numbers.begin(), best.numbers.end(), out);
  return best.scale;
}
