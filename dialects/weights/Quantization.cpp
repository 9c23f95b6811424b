// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes a group's scale and integers alternately: for given integers the
// best scale and minimum follow from a regression. Compiled without
// contraction, so that every CPU computes the same result.
#include "dialects/weights/Quantization.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace transom;

/// Max steps; the scale rarely changes afterwards.
static constexpr int maxSteps = 4;

/// Initial scales, as fractions of the scale that maps the largest value to the
/// range limit. With few integers, clipping some values makes the others more
/// exact; with a negative scale the largest value may have the sign with the
/// larger range. For normally distributed values in groups of 32, more
/// fractions reduce the error by less than 1 %.
static constexpr double manyFractions[] = {1};
static constexpr double fewFractions[] = {1, 0.92, 0.84, -0.9, -1.05};
static constexpr double rangeFractions[] = {1, 0.94, 0.87, 0.8};

namespace {

/// Integers with their scale, and the error.
struct Rounded {
  GroupScale group;
  double error = std::numeric_limits<double>::infinity();
  std::vector<float> numbers;
};

/// Fits integers to a group.
class GroupFitter {
public:
  GroupFitter(const float *numbers, int64_t count, const OperandFormat &format,
              const float *importance)
      : numbers(numbers), importance(importance), count(count), format(format),
        lowest(static_cast<float>(getLowest(format.element))),
        highest(static_cast<float>(getMaxMagnitude(format.element))) {}

  /// Iterates from an initial scale.
  Rounded fit(GroupScale first) const {
    Rounded best = round(first);
    for (int step = 0; step < maxSteps; ++step) {
      Rounded next = round(getBestScale(best));
      if (!(next.error < best.error))
        break;
      best = std::move(next);
    }
    return best;
  }

  /// The scale and minimum that map a fraction of the value range to the
  /// integer range.
  GroupScale getFirst(double fraction) const {
    auto [least, most] = std::minmax_element(numbers, numbers + count);
    if (format.minimums) {
      const double scale =
                       (double(*most) - *least) / (highest - lowest) * fraction,
                   center = (double(*most) + *least) / 2;
      return toStorage(scale, center - scale * (highest + lowest) / 2);
    }
    // An asymmetric range extends further below zero.
    const bool isSymmetric = lowest == -highest;
    const float largest = -*least > *most ? *least : *most;
    return toStorage(isSymmetric ? std::fabs(largest) / highest * fraction
                                 : largest / lowest * fraction,
                     0);
  }

private:
  GroupScale toStorage(double scale, double minimum) const {
    const auto asFloat = [](StorageType type, double value) {
      return static_cast<float>(
          roundToStorage(type, static_cast<float>(value)));
    };
    GroupScale group{asFloat(*format.scales, scale), 0};
    if (format.minimums)
      group.minimum = asFloat(*format.minimums, minimum);
    // Multiplication by a denormal scale would give zero.
    if (std::fabs(group.scale) < std::numeric_limits<float>::min())
      group.scale = 0;
    return group;
  }

  /// Rounds to the nearest integers with this scale.
  Rounded round(GroupScale group) const {
    Rounded rounded{group, 0, std::vector<float>(count)};
    const float shift = 12582912; // 1.5 * 2^23 + x rounds x to an integer
    for (int64_t i = 0; i < count; ++i) {
      const float ratio =
          group.scale == 0 ? 0 : (numbers[i] - group.minimum) / group.scale;
      const float whole = std::clamp(ratio, lowest, highest) + shift - shift;
      const double difference =
          numbers[i] - (double(whole) * group.scale + group.minimum);
      rounded.error += difference * difference * getImportance(i);
      rounded.numbers[i] = whole;
    }
    return rounded;
  }

  /// The best scale and minimum for these integers.
  GroupScale getBestScale(const Rounded &rounded) const {
    double products = 0, squares = 0, sum = 0, sumWhole = 0, n = 0;
    for (int64_t i = 0; i < count; ++i) {
      const double whole = rounded.numbers[i], weight = getImportance(i);
      products += numbers[i] * whole * weight;
      squares += whole * whole * weight;
      sum += numbers[i] * weight;
      sumWhole += whole * weight;
      n += weight;
    }
    if (!format.minimums)
      return squares == 0 ? rounded.group : toStorage(products / squares, 0);
    const double spread = squares - sumWhole * sumWhole / n;
    if (!(n > 0) || !(spread > 0))
      return rounded.group;
    const double scale = (products - sumWhole * sum / n) / spread;
    return toStorage(scale, (sum - scale * sumWhole) / n);
  }

  double getImportance(int64_t i) const {
    return importance ? importance[i] : 1;
  }

  const float *numbers, *importance;
  int64_t count;
  const OperandFormat &format;
  float lowest, highest;
};

} // namespace

GroupScale transom::quantizeGroup(const float *numbers, int64_t count,
                                  const OperandFormat &format, int8_t *out,
                                  const float *importance) {
  // Values that are not finite have no scale.
  std::fill_n(out, count, int8_t(0));
  const GroupScale broken{std::numeric_limits<float>::quiet_NaN(), 0};
  if (!std::all_of(numbers, numbers + count,
                   [](float x) { return std::isfinite(x); }))
    return broken;

  // Keep the fit with the least error.
  const GroupFitter fitter(numbers, count, format, importance);
  Rounded best;
  auto tryFractions = [&](const auto &fractions) {
    for (double fraction : fractions) {
      Rounded next = fitter.fit(fitter.getFirst(fraction));
      if (next.error < best.error)
        best = std::move(next);
    }
  };
  if (format.minimums)
    tryFractions(rangeFractions);
  else if (getStorageBits(format.element) < 8)
    tryFractions(fewFractions);
  else
    tryFractions(manyFractions);
  // A scale of 0 has no integers.
  if (best.numbers.empty())
    return broken;
  std::copy(best.numbers.begin(), best.numbers.end(), out);
  if (best.group.scale == 0)
    std::fill_n(out, count, int8_t(0));
  return best.group;
}
