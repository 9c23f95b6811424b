// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight products and norms against plain loops: any block has the same bits as
// the whole, and results are rounded to f32 once.
#include "test/dialects/weights/MemorySource.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

namespace {

/// A table [m, k], normalized and projected to n columns with a bias.
class WeightProducts : public ::testing::Test {
protected:
  WeightProducts() {
    Random random(11);
    source.add("table", {m, k}, random);
    source.add("gamma", {k}, random);
    source.add("beta", {k}, random);
    source.add("w", {n, k}, random);
    source.add("b", {n}, random);
    source.add("norms", {m}, random);
  }

  const std::vector<float> &file(const std::string &name) {
    return source.tensors[name].data;
  }

  /// The norm for a table row.
  std::vector<double> normalized(int64_t row) {
    const float *x = file("table").data() + row * k;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < k; ++i)
      mean += x[i];
    mean /= k;
    for (int64_t i = 0; i < k; ++i)
      variance += (x[i] - mean) * (x[i] - mean);
    variance /= k;
    std::vector<double> result;
    for (int64_t i = 0; i < k; ++i)
      result.push_back((x[i] - mean) / std::sqrt(variance + eps) *
                           file("gamma")[i] +
                       file("beta")[i]);
    return result;
  }

  std::vector<double> project(const std::vector<double> &row) {
    std::vector<double> result;
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += row[i] * file("w")[j * k + i];
      result.push_back(sum + file("b")[j]);
    }
    return result;
  }

  static constexpr int64_t m = 150, k = 37, n = 133;
  static constexpr double eps = 0.5;
  MemorySource source;
  const std::string norm =
      "layer_norm(file(\"table\"), file(\"gamma\"), file(\"beta\"), 0.5)";
  const std::string scaled = "with_norms(file(\"table\"), file(\"norms\"))";
  const std::string projection =
      "add(matmul(" + norm + ", transpose(file(\"w\"), [1, 0])), file(\"b\"))";
};

} // namespace

TEST_F(WeightProducts, normalize_rows) {
  std::vector<double> all(m * k);
  ASSERT_TRUE(expr(norm).evaluate(source, {0, 0}, {m, k}, all.data()));
  for (int64_t row = 0; row < m; ++row)
    for (auto [i, x] : {std::pair(0, 0.0), std::pair(17, 0.0)}) {
      x = normalized(row)[i];
      EXPECT_NEAR(all[row * k + i], x, 1e-13 * (1 + std::abs(x)));
    }
}

TEST_F(WeightProducts, are_rounded_once) {
  std::vector<float> all = evaluateAll(expr(projection), source);
  std::vector<double> exact(m * n);
  ASSERT_TRUE(expr(projection).evaluate(source, {0, 0}, {m, n}, exact.data()));
  size_t differs = 0;
  for (int64_t row = 0; row < m; ++row) {
    std::vector<double> expected = project(normalized(row));
    for (int64_t j = 0; j < n; ++j) {
      const double x = exact[row * n + j];
      EXPECT_NEAR(x, expected[j], 1e-11 * (1 + std::abs(expected[j])));
      EXPECT_EQ(all[row * n + j], static_cast<float>(x));
      // Rounding the product before the bias would change the results.
      const float twice = static_cast<float>(x - file("b")[j]) + file("b")[j];
      differs += twice != all[row * n + j];
    }
  }
  EXPECT_GT(differs, 0u);
  EXPECT_EQ(evaluateAll(expr("scale(" + projection + ", 0.1)"), source)[5],
            static_cast<float>(exact[5] * 0.1));
}

TEST_F(WeightProducts, blocks_have_the_bits_of_the_whole) {
  for (const std::string &text :
       {norm, projection, "transpose(" + projection + ", [1, 0])", scaled,
        "transpose(" + scaled + ", [1, 0])",
        "with_norms(" + projection + ", file(\"norms\"))"}) {
    WeightExpr e = expr(text);
    EXPECT_EQ(e.str(), text);
    Shape shape = *e.shape(source);
    std::vector<float> all = evaluateAll(e, source);
    Random random(3);
    for (int i = 0; i < 20; ++i) {
      int64_t row = random.between(0, shape[0] - 1),
              column = random.between(0, shape[1] - 1),
              rows = random.between(1, shape[0] - row),
              columns = random.between(1, shape[1] - column);
      std::vector<float> block =
          evaluate(e, source, {row, column}, {rows, columns});
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          ASSERT_EQ(block[r * columns + c],
                    all[(row + r) * shape[1] + column + c])
              << text;
    }
  }
}

TEST_F(WeightProducts, set_norms_of_rows) {
  std::vector<double> all(m * k);
  ASSERT_TRUE(expr(scaled).evaluate(source, {0, 0}, {m, k}, all.data()));
  for (int64_t row = 0; row < m; ++row) {
    const float *x = file("table").data() + row * k;
    double square = 0;
    for (int64_t i = 0; i < k; ++i)
      square += double(x[i]) * x[i];
    for (int64_t i : {0, 17}) {
      const double expected = x[i] * file("norms")[row] / std::sqrt(square);
      EXPECT_NEAR(all[row * k + i], expected, 1e-12 * std::abs(expected));
    }
  }
}

// Norms persist for later blocks, but never for another source.
TEST_F(WeightProducts, keep_norms_for_one_source) {
  const WeightExpr e = expr(scaled);
  const std::vector<float> column = evaluate(e, source, {0, 3}, {m, 1});
  source.largestRead = 0;
  EXPECT_EQ(evaluate(e, source, {0, 3}, {m, 1}), column);
  EXPECT_EQ(source.largestRead, m);
  MemorySource other;
  other.tensors = source.tensors;
  for (float &x : other.tensors["table"].data)
    x += 1;
  EXPECT_EQ(evaluate(e, other, {0, 3}, {m, 1}),
            evaluate(expr(scaled), other, {0, 3}, {m, 1}));
  EXPECT_NE(evaluate(e, other, {0, 3}, {m, 1}), column);
}

TEST_F(WeightProducts, of_nothing_are_zero) {
  EXPECT_EQ(
      evaluateAll(expr("matmul(fill([2, 0], 1), fill([0, 3], 1))"), source),
      std::vector<float>(6, 0));
}
