// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distance rows against transformers' `make_log_bucket_position`.
#include "dialects/common/PositionBuckets.h"
#include <gtest/gtest.h>
#include <vector>

using namespace transom;

static std::vector<int64_t> getRows(const PositionBuckets &rule,
                                    const std::vector<int64_t> &distances) {
  std::vector<int64_t> rows;
  for (int64_t distance : distances)
    rows.push_back(rule.getRow(distance));
  return rows;
}

TEST(PositionBuckets, EachDistanceHasARow) {
  PositionBuckets rule = {8, 0};
  EXPECT_EQ(getRows(rule, {-9, -4, -3, -1, 0, 1, 3, 4, 9}),
            (std::vector<int64_t>{0, 0, 1, 3, 4, 5, 7, 7, 7}));
  EXPECT_EQ(rule.getReach(), 4);
}

// Printed by transformers 5.24 for bucket_size 16 and max_position 96, and for
// 256 and 512.
TEST(PositionBuckets, FarDistancesShareRows) {
  PositionBuckets small = {32, 96}, base = {512, 512};
  EXPECT_EQ(getRows(small, {0, 1, 8, 9, 11, 12, 16, 17, 40, 66, 67, 95, 96, 135,
                            136, 500}),
            (std::vector<int64_t>{16, 17, 24, 25, 25, 26, 26, 27, 29, 30, 31,
                                  31, 31, 31, 31, 31}));
  EXPECT_EQ(getRows(small, {-1, -8, -9, -95, -96, -135, -136, -500}),
            (std::vector<int64_t>{15, 8, 7, 1, 0, 0, 0, 0}));
  EXPECT_EQ(
      getRows(base, {128, 129, 130, 131, 200, 300, 511, 512, -511, -512}),
      (std::vector<int64_t>{384, 385, 386, 387, 425, 463, 511, 511, 1, 0}));
}

TEST(PositionBuckets, RowsNeverFallAndEndAtTheReach) {
  for (PositionBuckets rule :
       {PositionBuckets{2, 0}, PositionBuckets{4, 4}, PositionBuckets{6, 9},
        PositionBuckets{14, 9}, PositionBuckets{32, 96},
        PositionBuckets{512, 512}, PositionBuckets{512, 2048}}) {
    ASSERT_TRUE(rule.isValid()) << rule.positions;
    const int64_t reach = rule.getReach();
    for (int64_t d = -3 * reach; d < 3 * reach; ++d)
      EXPECT_LE(rule.getRow(d), rule.getRow(d + 1)) << d;
    EXPECT_EQ(rule.getRow(reach), rule.getRow(1 << 20));
    EXPECT_EQ(rule.getRow(-reach), rule.getRow(-(1 << 20)));
  }
}

TEST(PositionBuckets, RulesThatDivideByZeroAreNotValid) {
  for (PositionBuckets rule :
       {PositionBuckets{0, 0}, PositionBuckets{3, 0}, PositionBuckets{2, 9},
        PositionBuckets{32, 9}, PositionBuckets{32, 1 << 17}})
    EXPECT_FALSE(rule.isValid()) << rule.positions << " " << rule.maxDistance;
}

TEST(PositionBuckets, ShortSequencesHaveFewRows) {
  using Rows = std::pair<int64_t, int64_t>;
  PositionBuckets base = {512, 512}, odd = {10, 0};
  EXPECT_EQ(base.getRows(0, 32), Rows(0, 0));
  EXPECT_EQ(base.getRows(1, 1), Rows(256, 257));
  EXPECT_EQ(base.getRows(128, 1), Rows(129, 384));
  EXPECT_EQ(base.getRows(128, 32), Rows(128, 384));
  EXPECT_EQ(base.getRows(5000, 32), Rows(0, 512));
  EXPECT_EQ(odd.getRows(3, 4), Rows(0, 8));
  EXPECT_EQ(odd.getRows(4, 4), Rows(0, 10));
}
