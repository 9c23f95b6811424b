// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Biases of attention scores by the distance of query and key.
#pragma once
#include "dialects/weights/WeightExpr.h"
#include <cstdint>
#include <vector>

namespace transom {

/// The slopes of ALiBi (Press et al. 2022, 3): for 2^k heads powers of
/// 2^(-8 / 2^k), for the others every second of the next power of two.
std::vector<double> alibiSlopes(int64_t heads);

/// Slopes [heads, 2] of `attn.sdpa` that subtract slope * |distance|.
WeightExpr symmetricSlopes(const std::vector<double> &slopes);

/// How the distances of key and query fall into buckets (Raffel et al. 2020,
/// 2.1).
struct DistanceBuckets {
  int64_t buckets = 0;
  int64_t distance = 0; ///< keys this far apart share the last bucket
  /// Only keys at or before the query: they have all buckets, and later keys
  /// fall into bucket 0. Otherwise half of the buckets are for later keys.
  bool causal = false;

  /// Number of distances that have buckets of their own; the others share
  /// buckets by the logarithm. Not 0.
  int64_t getExact() const { return causal ? buckets / 2 : buckets / 4; }
};

/// The bucket of each distance key - query from -`distance` to `distance`.
std::vector<int64_t> relativeBuckets(const DistanceBuckets &rule);

/// The relative bias of `attn.sdpa`, [heads, 2 * distance + 1], from a table
/// [buckets or more, heads].
WeightExpr relativeBiasByDistance(WeightExpr table,
                                  const DistanceBuckets &rule);

/// Position keys or queries of `attn.sdpa`, [heads * positions, width], from a
/// table [positions, heads * width].
WeightExpr positionsByHead(WeightExpr table, int64_t positions, int64_t heads,
                           int64_t width);

} // namespace transom
