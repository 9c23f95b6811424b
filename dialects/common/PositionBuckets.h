// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which row of a table of relative positions belongs to a distance (DeBERTa: He
// et al. 2021, 3.1; with logarithmic buckets He et al. 2023, DeBERTa-v2).
#pragma once
#include <cstdint>
#include <utility>

namespace transom {

/// The rule of a table of `positions` rows, an even number: half of them, the
/// span, for each side.
struct PositionBuckets {
  int64_t positions = 0;
  /// Distances of more than span / 2 share rows by their logarithm, so that
  /// this one is the first that falls out of the span. 0: each distance has a
  /// row.
  int64_t maxDistance = 0;

  /// The largest value of `maxDistance`.
  static constexpr int64_t largestDistance = 1 << 16;

  int64_t getSpan() const { return positions / 2; }
  /// The largest distance that shares its row with no other, if there are
  /// buckets.
  int64_t getExact() const { return getSpan() / 2; }
  /// True unless the rule divides by zero, or the logarithm falls.
  bool isValid() const;
  /// The row of the distance query - key: the span plus its bucket, within the
  /// table. It never falls as the distance rises.
  int64_t getRow(int64_t distance) const;
  /// The rows [first, second) that distances between this many columns have,
  /// extended to multiples of `step`.
  std::pair<int64_t, int64_t> getRows(int64_t columns, int64_t step) const;
  /// Distances of more than this have the row of this one, on either side.
  int64_t getReach() const;
};

} // namespace transom
