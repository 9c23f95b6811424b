// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Biases of attention scores by the distance of query and key.
#pragma once
#include "runtime/weights/WeightExpr.h"
#include <cstdint>
#include <vector>

namespace transom {

/// The slopes of ALiBi (Press et al. 2022, 3): for 2^k heads powers of
/// 2^(-8 / 2^k), for the others every second of the next power of two.
std::vector<double> alibiSlopes(int64_t heads);

/// Slopes [heads, 2] of `attn.sdpa` that subtract slope * |distance|.
WeightExpr symmetricSlopes(const std::vector<double> &slopes);

/// The bucket of each distance from -`distance` to `distance` of key and query
/// (Raffel et al. 2020, 2.1): half of the buckets for each direction, exact up
/// to half of those, then by the logarithm. At least 4 buckets.
std::vector<int64_t> relativeBuckets(int64_t buckets, int64_t distance);

/// The relative bias of `attn.sdpa`, [heads, 2 * distance + 1], from a table
/// [buckets or more, heads].
WeightExpr relativeBiasByDistance(WeightExpr table, int64_t buckets,
                                  int64_t distance);

} // namespace transom
