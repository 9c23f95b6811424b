// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention score biases by query-key distance.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include <cstdint>
#include <vector>

namespace transom {

/// ALiBi slopes (Press et al. 2022, 3): powers 2^(-8 i / 2^k) for 2^k heads;
/// additional heads use every second slope from the next power of two.
std::vector<double> alibiSlopes(int64_t heads);

/// `attn.sdpa` slopes [heads, 2] that subtract slope * |distance|.
WeightExpr symmetricSlopes(const std::vector<double> &slopes);

/// Bucketing of query-key distances (Raffel et al. 2020, 2.1).
struct DistanceBuckets {
  int64_t buckets = 0;
  int64_t distance = 0; ///< from here on keys share the last bucket
  /// True: all buckets are for keys at or before the query, and later keys use
  /// bucket 0. False: half of the buckets are for later keys.
  bool causal = false;

  /// Number of distances that have their own bucket; the others share
  /// logarithmic buckets. Not 0.
  int64_t getExact() const { return causal ? buckets / 2 : buckets / 4; }
};

/// Returns the bucket for each distance key - query from -`distance` to
/// `distance`.
std::vector<int64_t> relativeBuckets(const DistanceBuckets &rule);

/// Returns the `attn.sdpa` relative bias, [heads, 2 * distance + 1], from a
/// table [buckets or more, heads].
WeightExpr relativeBiasByDistance(WeightExpr table,
                                  const DistanceBuckets &rule);

/// Returns `attn.sdpa` position keys or queries, [heads * positions, width],
/// from a table [positions, heads * width].
WeightExpr positionsByHead(WeightExpr table, int64_t positions, int64_t heads,
                           int64_t width);

} // namespace transom
