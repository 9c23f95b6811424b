// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables against their formulas, as a whole and in blocks.
#include "test/dialects/weights/MemorySource.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

TEST(WeightTables, list_values) {
  MemorySource source;
  WeightExpr literal = expr("values([2, 3], [1, 2.5, 3, 4, -inf, 6])");
  EXPECT_EQ(evaluate(literal, source, {0, 1}, {2, 2}),
            (std::vector<float>{2.5, 3, -INFINITY, 6}));
  EXPECT_EQ(evaluateAll(expr("values([], [3])"), source),
            std::vector<float>{3});
}

// torch.tril and torch.triu with the same diagonals.
TEST(WeightTables, triangles_have_two_numbers) {
  MemorySource source;
  EXPECT_EQ(evaluateAll(expr("triangle([2, 2, 3], 0, 1, 0)"), source),
            (std::vector<float>{1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0}));
  EXPECT_EQ(evaluateAll(expr("triangle([3, 3], 1, 0, -inf)"), source),
            (std::vector<float>{0, 0, -INFINITY, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(evaluateAll(expr("triangle([2, 2], -1, 0, 1)"), source),
            (std::vector<float>{1, 1, 0, 1}));
  WeightExpr large = expr("triangle([9, 9], -2, 5, 7)");
  EXPECT_EQ(evaluate(large, source, {4, 1}, {2, 3}),
            (std::vector<float>{5, 5, 7, 5, 5, 5}));
}

// Vaswani et al. 2017, section 3.5.
TEST(WeightTables, sinusoids_interleave_or_stand_in_halves) {
  MemorySource source;
  int64_t width = 7;
  std::vector<float> mixed = evaluateAll(expr("sinusoid(5, 7, 0)"), source);
  std::vector<float> halves = evaluateAll(expr("sinusoid(5, 7, 1)"), source);
  for (int64_t p = 0; p < 5; ++p)
    for (int64_t c = 0; c < width; ++c) {
      double angle = p / std::pow(10000.0, 2.0 * (c / 2) / width);
      float expected =
          static_cast<float>(c % 2 ? std::cos(angle) : std::sin(angle));
      EXPECT_EQ(mixed[p * width + c], expected);
      int64_t column = c % 2 ? 4 + c / 2 : c / 2;
      EXPECT_EQ(halves[p * width + column], expected);
    }
  EXPECT_EQ(evaluate(expr("sinusoid(5, 7, 1)"), source, {3, 2}, {1, 3}),
            std::vector<float>(halves.begin() + 23, halves.begin() + 26));
}

// transformers' M2M100SinusoidalPositionalEmbedding.get_embedding.
TEST(WeightTables, sinusoids_of_fairseq) {
  MemorySource source;
  std::vector<float> odd = evaluateAll(expr("sinusoid(1001, 7, 2)"), source);
  std::vector<std::pair<int64_t, std::vector<float>>> expected = {
      {1,
       {0.841470957f, 0.00999983307f, 9.99999902e-05f, 0.540302336f,
        0.999949992f, 1, 0}},
      {5,
       {-0.958924294f, 0.0499791652f, 0.000499999966f, 0.2836622f, 0.998750269f,
        0.999999881f, 0}},
      {1000,
       {0.826879561f, -0.54402113f, 0.0998334065f, 0.562379062f, -0.839071512f,
        0.995004177f, 0}}};
  for (const auto &[row, numbers] : expected)
    for (int64_t c = 0; c < 7; ++c)
      EXPECT_NEAR(odd[row * 7 + c], numbers[c], 1e-7) << row << " " << c;
  EXPECT_EQ(evaluate(expr("sinusoid(1001, 7, 2)"), source, {5, 2}, {2, 4}),
            (std::vector<float>{odd[37], odd[38], odd[39], odd[40], odd[44],
                                odd[45], odd[46], odd[47]}));
  // The least width has the frequencies 1 and 1e-4.
  EXPECT_NEAR(evaluateAll(expr("sinusoid(1001, 4, 2)"), source)[4001],
              0.0998334065f, 1e-7);
}

TEST(WeightTables, angles_have_coarse_and_fine_rows) {
  MemorySource source;
  std::vector<double> frequencies = {1.0, 0.37, 1e-4};
  WeightExpr e = expr("angles(600, 1.5, [1.0, 0.37, 1e-4])");
  EXPECT_EQ(*e.shape(source), (Shape{3 + 256, 6}));
  EXPECT_EQ(*expr("angles(512, 1, [1])").shape(source), (Shape{258, 2}));
  EXPECT_EQ(*expr("angles(1, 1, [1])").shape(source), (Shape{257, 2}));
  std::vector<float> all = evaluateAll(e, source);
  for (int64_t row = 0; row < 259; ++row)
    for (int64_t i = 0; i < 3; ++i) {
      double position = row < 3 ? 256.0 * row : row - 3.0;
      double factor = row < 3 ? 1.0 : 1.5;
      double angle = position * frequencies[i];
      EXPECT_EQ(all[row * 6 + i], static_cast<float>(factor * std::cos(angle)));
      EXPECT_EQ(all[row * 6 + 3 + i],
                static_cast<float>(factor * std::sin(angle)));
    }
  EXPECT_EQ(evaluate(e, source, {2, 1}, {2, 4}),
            (std::vector<float>{all[13], all[14], all[15], all[16], all[19],
                                all[20], all[21], all[22]}));
}
