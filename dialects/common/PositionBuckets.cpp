// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buckets are computed in single precision, as in transformers: at bucket
// boundaries the rounding matters.
#include "dialects/common/PositionBuckets.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace transom;

/// The logarithm, rounded once to single precision.
static float logarithm(float x) {
  return static_cast<float>(std::log(static_cast<double>(x)));
}

bool PositionBuckets::isValid() const {
  if (positions < 2 || positions % 2 != 0)
    return false;
  return maxDistance == 0 || (getExact() >= 1 && maxDistance - 1 > getExact() &&
                              maxDistance <= largestDistance);
}

/// Returns the bucket for a nonnegative distance.
static int64_t getBucket(const PositionBuckets &rule, int64_t distance) {
  const int64_t exact = rule.getExact();
  if (rule.maxDistance == 0 || distance <= exact)
    return distance;
  const auto unit = static_cast<float>(exact);
  const auto whole = static_cast<float>(
      static_cast<double>(rule.maxDistance - 1) / static_cast<double>(exact));
  const float share =
      logarithm(static_cast<float>(distance) / unit) / logarithm(whole);
  return static_cast<int64_t>(
             std::ceil(share * static_cast<float>(exact - 1))) +
         exact;
}

int64_t PositionBuckets::getRow(int64_t distance) const {
  const int64_t bucket = getBucket(*this, std::abs(distance));
  return std::clamp<int64_t>(getSpan() + (distance < 0 ? -bucket : bucket), 0,
                             positions - 1);
}

int64_t PositionBuckets::getReach() const {
  if (maxDistance == 0)
    return getSpan();
  // With one exact distance on each side all others share a bucket.
  if (getExact() == 1)
    return 2;
  int64_t reach = getExact();
  while (getBucket(*this, reach) < getSpan())
    ++reach;
  return reach;
}

std::pair<int64_t, int64_t> PositionBuckets::getRows(int64_t columns,
                                                     int64_t step) const {
  if (columns < 1)
    return {0, 0};
  const int64_t end = getRow(columns - 1) + 1;
  return {getRow(1 - columns) / step * step,
          std::min((end + step - 1) / step * step, positions)};
}
