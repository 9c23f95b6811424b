// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps distances to rows in a relative position table (DeBERTa: He et al. 2021,
// 3.1; with logarithmic buckets He et al. 2023, DeBERTa-v2).
#pragma once
#include <cstdint>
#include <utility>

namespace transom {

/// The rule for a table with `positions` rows, an even number: half of them,
/// the span, on each side.
struct PositionBuckets {
  int64_t positions = 0;
  /// Distances above span / 2 share rows logarithmically, so that this is the
  /// first distance outside the span. 0: each distance has a row.
  int64_t maxDistance = 0;

  /// Upper limit for `maxDistance`.
  static constexpr int64_t largestDistance = 1 << 16;

  int64_t getSpan() const { return positions / 2; }
  /// The largest distance with its own row if there are buckets.
  int64_t getExact() const { return getSpan() / 2; }
  /// True unless the rule divides by zero, or the logarithm decreases.
  bool isValid() const;
  /// The row for the distance query - key: the span plus its bucket, within the
  /// table. It never decreases as the distance increases.
  int64_t getRow(int64_t distance) const;
  /// The rows [first, second) for all distances between this many columns,
  /// extended to multiples of `step`.
  std::pair<int64_t, int64_t> getRows(int64_t columns, int64_t step) const;
  /// Greater distances have the row for this distance, on either side.
  int64_t getReach() const;
};

} // namespace transom
