// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of weight expression selects the same elements as reading the
// files.
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/Tensor.h"
#include "compiler/evaluator/residues/Residues.h"
#include "dialects/weights/WeightExpr.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// [4, 6] with elements that are their index.
struct Indices : TensorSource {
  Result<std::vector<int64_t>> shape(const std::string &) const override {
    return std::vector<int64_t>{4, 6};
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        *out++ = static_cast<float>((offsets[0] + i) * 6 + offsets[1] + j);
    return {};
  }
};

class ResidueWeights : public ::testing::TestWithParam<const char *> {
protected:
  std::vector<Number> getWeight(const std::string &text) {
    auto expr = WeightExpr::parse(text);
    EXPECT_TRUE(expr) << expr.error().message;
    auto numbers = domain.weight(*expr, files);
    EXPECT_TRUE(numbers) << numbers.error().message;
    return (*numbers)->real;
  }

  Indices files;
  Residues domain{"key", 1, Rounding::Erased};
  DomainScope scope{&domain};
};

} // namespace

TEST_P(ResidueWeights, takeTheElementsOfTheFile) {
  auto expr = WeightExpr::parse(GetParam());
  ASSERT_TRUE(expr) << expr.error().message;
  auto shape = expr->shape(files);
  ASSERT_TRUE(shape);
  int64_t count = 1;
  for (int64_t size : *shape)
    count *= size;
  std::vector<float> indices(count);
  ASSERT_TRUE(expr->evaluate(files, std::vector<int64_t>(shape->size(), 0),
                             *shape, indices.data()));
  std::vector<Number> numbers = getWeight(GetParam());
  ASSERT_EQ(numbers.size(), indices.size());
  for (size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(domain.get(numbers[i]),
              domain.get(domain.getLeaf("file a", int64_t(indices[i]))))
        << i;
}

INSTANTIATE_TEST_SUITE_P(
    moves, ResidueWeights,
    ::testing::Values(
        R"(file("a"))", R"(transpose(file("a"), [1, 0]))",
        R"(slice(file("a"), 1, 2, 3))",
        R"(concat(1, slice(file("a"), 1, 4, 2), file("a")))",
        R"(reshape(file("a"), [2, 12]))", R"(gather(file("a"), [3, 0, 0]))",
        R"(interleave(2, file("a"), slice(file("a"), 0, 0, 4)))",
        R"(transpose(reshape(file("a"), [2, 2, 6]), [2, 0, 1]))"));

TEST_F(ResidueWeights, areScaledAddedAndPadded) {
  Number x = domain.getLeaf("file a", 1);
  auto equal = [&](Number a, Number b) {
    return domain.get(a) == domain.get(b);
  };
  EXPECT_TRUE(equal(getWeight(R"(scale(file("a"), 0.5))")[1] * 2.0, x));
  EXPECT_TRUE(equal(getWeight(R"(add(file("a"), file("a")))")[1], x + x));
  EXPECT_TRUE(equal(getWeight(R"(add(file("a"), fill([6], 0.5)))")[1],
                    x + constant(0.5)));
  EXPECT_EQ(getWeight(R"(pad(file("a"), 1, 7))")[6].real(), 0);
  EXPECT_TRUE(equal(getWeight(R"(pad(file("a"), 1, 7))")[1], x));
  EXPECT_TRUE(equal(getWeight("fill([3], 0.1)")[2], constant(0.1)));
  EXPECT_TRUE(equal(getWeight("values([2], [3.0, 0.1])")[1], constant(0.1)));
  EXPECT_FALSE(equal(getWeight("sinusoid(4, 6, 0)")[1],
                     getWeight("sinusoid(4, 6, 1)")[1]));
}

// Row 0 is coarse, rows with fine positions follow.
TEST_F(ResidueWeights, holdTheAnglesOfPositions) {
  std::vector<Number> table = getWeight("angles(256, 2.0, [0.3, 0.7])");
  ASSERT_EQ(table.size(), 257u * 4);
  auto [cosine, sine] = getAngle(0.7, 5);
  EXPECT_EQ(domain.get(table[6 * 4 + 1]), domain.get(cosine * 2.0));
  EXPECT_EQ(domain.get(table[6 * 4 + 3]), domain.get(sine * 2.0));
  EXPECT_EQ(domain.get(table[0]), domain.get(1.0));
}

TEST_F(ResidueWeights, areMultipliedAndNormalized) {
  std::vector<Number> a = getWeight(R"(file("a"))");
  std::vector<Number> product =
      getWeight(R"(matmul(file("a"), transpose(file("b"), [1, 0])))");
  ASSERT_EQ(product.size(), 16u);
  EXPECT_EQ(
      domain.get(product[1 * 4 + 2]),
      domain.get(dot(0.0, &a[6], 1, &getWeight(R"(file("b"))")[12], 1, 6)));
  std::vector<Number> norm = getWeight(
      R"(layer_norm(file("a"), fill([6], 2.0), fill([6], 0.5), 0.25))");
  std::vector<Number> row(a.begin() + 6, a.begin() + 12);
  std::vector<Number> gamma(6, constant(2.0)), beta(6, constant(0.5));
  layerNorm(row, gamma, &beta, 0.25);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(domain.get(norm[6 + i]), domain.get(row[i])) << i;
}

TEST_F(ResidueWeights, getTheNormsOfTheirRows) {
  std::vector<Number> a = getWeight(R"(file("a"))");
  std::vector<Number> scaled =
      getWeight(R"(with_norms(file("a"), values([4], [1.0, 2.0, 3.0, 4.0])))");
  const Number root = sqrt(dot(0.0, &a[6], 1, &a[6], 1, 6));
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(domain.get(scaled[6 + i]),
              domain.get(a[6 + i] * (constant(2.0) / root)))
        << i;
}
