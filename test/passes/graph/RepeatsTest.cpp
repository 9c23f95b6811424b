// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Repeats in sequences of integers, against a slow definition.
#include "passes/graph/Repeats.h"
#include "gtest/gtest.h"
#include <random>

using namespace transom;

namespace {

bool repeats(const std::vector<int> &values, const Repeat &repeat) {
  for (size_t i = repeat.begin; i + repeat.period < repeat.end; ++i)
    if (values[i] != values[i + repeat.period])
      return false;
  return repeat.end - repeat.begin >= 2 * repeat.period;
}

TEST(Repeats, coverMostFirst) {
  // 7 | 1 2 3 | 1 2 3 | 1 2 3 | 9 9
  std::vector<int> values = {7, 1, 2, 3, 1, 2, 3, 1, 2, 3, 9, 9};
  std::vector<Repeat> found = findRepeats(values, 8);
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0].period, 3u);
  EXPECT_EQ(found[0].begin, 1u);
  EXPECT_EQ(found[0].end, 10u);
  EXPECT_EQ(found[1].period, 1u);
  EXPECT_EQ(found[1].begin, 10u);
}

TEST(Repeats, preferTheShorterPeriod) {
  std::vector<int> values(12, 5);
  std::vector<Repeat> found = findRepeats(values, 6);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].period, 1u);
  EXPECT_EQ(found[0].covered(), 12u);
}

TEST(Repeats, keepToTheLargestPeriod) {
  std::vector<int> values = {1, 2, 3, 4, 1, 2, 3, 4};
  EXPECT_TRUE(findRepeats(values, 3).empty());
  EXPECT_EQ(findRepeats(values, 4).size(), 1u);
}

TEST(Repeats, areMaximalAndComplete) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> values(random() % 40);
    for (int &value : values)
      value = random() % 2;
    size_t expected = 0;
    std::vector<Repeat> found = findRepeats(values, 20);
    for (const Repeat &repeat : found) {
      EXPECT_TRUE(repeats(values, repeat));
      Repeat wider = {repeat.period, repeat.begin - 1, repeat.end};
      if (repeat.begin > 0)
        EXPECT_FALSE(repeats(values, wider));
      wider = {repeat.period, repeat.begin, repeat.end + 1};
      if (repeat.end < values.size())
        EXPECT_FALSE(repeats(values, wider));
    }
    for (size_t period = 1; period <= 20; ++period)
      for (size_t begin = 0; begin + 2 * period <= values.size(); ++begin) {
        bool starts =
            begin == 0 || values[begin - 1] != values[begin - 1 + period];
        expected +=
            starts && repeats(values, {period, begin, begin + 2 * period});
      }
    EXPECT_EQ(found.size(), expected);
  }
}

} // namespace
