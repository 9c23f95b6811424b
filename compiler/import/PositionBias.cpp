// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slopes and buckets, computed as in the papers and transformers.
#include "compiler/import/PositionBias.h"
#include <algorithm>
#include <cmath>

using namespace transom;

std::vector<double> transom::alibiSlopes(int64_t heads) {
  int64_t power = 1;
  while (power * 2 <= heads)
    power *= 2;
  std::vector<double> slopes;
  auto slope = [](int64_t number, int64_t of) {
    return std::exp2(-8.0 * static_cast<double>(number) /
                     static_cast<double>(of));
  };
  for (int64_t i = 1; i <= power; ++i)
    slopes.push_back(slope(i, power));
  for (int64_t i = 1; int64_t(slopes.size()) < heads; i += 2)
    slopes.push_back(slope(i, 2 * power));
  return slopes;
}

WeightExpr transom::symmetricSlopes(const std::vector<double> &slopes) {
  std::vector<double> bySide;
  for (double slope : slopes) {
    bySide.push_back(slope);
    bySide.push_back(-slope);
  }
  return WeightExpr::values({static_cast<int64_t>(slopes.size()), 2}, bySide);
}

std::vector<int64_t> transom::relativeBuckets(const DistanceBuckets &rule) {
  int64_t count = rule.causal ? rule.buckets : rule.buckets / 2;
  int64_t exact = rule.getExact(), distance = rule.distance;
  // Uses single precision for inexact distances, as transformers does.
  auto getBucket = [&](int64_t apart) {
    if (apart < exact)
      return apart;
    float share =
        std::log(static_cast<float>(apart) / static_cast<float>(exact)) /
        static_cast<float>(std::log(static_cast<double>(distance) /
                                    static_cast<double>(exact))) *
        static_cast<float>(count - exact);
    return std::min(exact + static_cast<int64_t>(share), count - 1);
  };
  std::vector<int64_t> result;
  for (int64_t d = -distance; d <= distance; ++d)
    result.push_back(d <= 0        ? getBucket(-d)
                     : rule.causal ? 0
                                   : count + getBucket(d));
  return result;
}

WeightExpr transom::relativeBiasByDistance(WeightExpr table,
                                           const DistanceBuckets &rule) {
  return WeightExpr::transpose(
      WeightExpr::gather(std::move(table), relativeBuckets(rule)), {1, 0});
}

WeightExpr transom::positionsByHead(WeightExpr table, int64_t positions,
                                    int64_t heads, int64_t width) {
  return WeightExpr::reshape(
      WeightExpr::transpose(
          WeightExpr::reshape(std::move(table), {positions, heads, width}),
          {1, 0, 2}),
      {heads * positions, width});
}
