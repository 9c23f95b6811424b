// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slopes by head count, and buckets by distance, as in transformers.
#include "compiler/import/PositionBias.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

TEST(PositionBias, slopes_of_any_number_of_heads) {
  EXPECT_EQ(alibiSlopes(1), (std::vector<double>{1.0 / 256}));
  EXPECT_EQ(alibiSlopes(4),
            (std::vector<double>{1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256}));
  EXPECT_EQ(alibiSlopes(6), (std::vector<double>{1.0 / 4, 1.0 / 16, 1.0 / 64,
                                                 1.0 / 256, 1.0 / 2, 1.0 / 8}));
}

TEST(PositionBias, buckets_of_t5) {
  std::vector<int64_t> buckets = relativeBuckets({32, 128});
  ASSERT_EQ(buckets.size(), 257U);
  // transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket
  const std::pair<int64_t, int64_t> expected[] = {
      {-128, 15}, {-91, 15}, {-90, 14}, {-64, 14}, {-32, 12}, {-16, 10},
      {-8, 8},    {-7, 7},   {-1, 1},   {0, 0},    {1, 17},   {7, 23},
      {8, 24},    {11, 24},  {12, 25},  {16, 26},  {22, 26},  {23, 27},
      {31, 27},   {32, 28},  {45, 28},  {46, 29},  {63, 29},  {64, 30},
      {90, 30},   {91, 31},  {128, 31}};
  for (auto [distance, bucket] : expected)
    EXPECT_EQ(buckets[128 + distance], bucket) << distance;
}

TEST(PositionBias, few_buckets) {
  std::vector<int64_t> left = {3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 1};
  std::vector<int64_t> buckets = relativeBuckets({8, 20});
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(buckets[8 + i], left[i]) << i - 12;
    EXPECT_EQ(buckets[32 - i], left[i] + 4) << 12 - i;
  }
  EXPECT_EQ(buckets[20], 0);
}

TEST(PositionBias, causal_buckets_are_for_earlier_keys) {
  std::vector<int64_t> buckets = relativeBuckets({8, 20, /*causal=*/true});
  ASSERT_EQ(buckets.size(), 41U);
  // transformers.models.t5.modeling_t5.T5Attention._relative_position_bucket
  // with bidirectional=False
  const int64_t expected[] = {0, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6,
                              6, 6, 6, 7, 7, 7, 7, 7, 7, 7};
  for (int64_t i = 0; i <= 20; ++i) {
    EXPECT_EQ(buckets[20 - i], expected[i]) << i;
    EXPECT_EQ(buckets[20 + i], 0) << i;
  }
}

TEST(PositionBias, gathers_the_table_by_distance) {
  EXPECT_EQ(relativeBiasByDistance(WeightExpr::file("t"), {4, 2}).str(),
            "transpose(gather(file(\"t\"), [1, 1, 0, 3, 3]), [1, 0])");
}

} // namespace
