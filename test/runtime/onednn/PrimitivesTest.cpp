// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each oneDNN primitive against plain loops, with the corner cases that the
// header promises.
#include "test/runtime/onednn/Calls.h"

using namespace transom;
using namespace transom::test;

namespace {

using Primitives = OneDnnTest;

constexpr double inFloat32 = 2e-5;

TEST_F(Primitives, multipliesWithBiasActivationAndResidual) {
  Product products[] = {{5, 64, 96}, {5, 37, 41}, {5, 1, 7}};
  for (Product &product : products)
    for (int variant = 0; variant != 4 * (TRANSOM_ONEDNN_SIGMOID + 1);
         ++variant) {
      const bool hasBias = variant & 1, hasResidual = variant & 2;
      product.call.activation = variant / 4;
      product.call.bias = hasBias ? product.bias.data() : nullptr;
      product.call.residual = hasResidual
                                  ? makeTensor(product.residual, {5, product.n})
                                  : transom_onednn_tensor{};
      ASSERT_EQ(run(product.call), "");
      EXPECT_LT(product.error(), inFloat32)
          << product.n << "x" << product.k << " activation "
          << product.call.activation << " bias " << hasBias << " residual "
          << hasResidual;
    }
}

TEST_F(Primitives, takesAResidualFromTheOut) {
  for (int32_t activation : {TRANSOM_ONEDNN_NONE, TRANSOM_ONEDNN_RELU}) {
    Product product(9, 48, 32);
    product.call.activation = activation;
    product.out = product.residual;
    product.call.out = makeTensor(product.out, {9, 48});
    product.call.residual = product.call.out;
    ASSERT_EQ(run(product.call), "");
    EXPECT_LT(product.error(&product.residual), inFloat32);
  }
}

TEST_F(Primitives, takesRowsOfSeveralDimensions) {
  Product product(6, 16, 8);
  product.call.input = makeTensor(product.input, {2, 3, 8});
  product.call.out = makeTensor(product.out, {2, 3, 16});
  ASSERT_EQ(run(product.call), "");
  EXPECT_LT(product.error(), inFloat32);
}

/// [2, 3, m, k] x [.., k, n] with leading sizes that broadcast.
TEST_F(Primitives, multipliesActivations) {
  const int64_t m = 5, n = 7, k = 11;
  for (int which = 0; which != 3; ++which) {
    const bool wideLeft = which != 1, wideRight = which != 2;
    std::vector<float> left =
        randomFloats(size_t((wideLeft ? 6 : 3) * m * k), 1);
    std::vector<float> right =
        randomFloats(size_t((wideRight ? 6 : 3) * k * n), 2);
    std::vector<float> out(size_t(6 * m * n), NAN);
    transom_onednn_call call{};
    call.primitive = TRANSOM_ONEDNN_BATCH_MATMUL;
    call.input = wideLeft ? makeTensor(left, {2, 3, m, k})
                          : makeTensor(left, {1, 3, m, k});
    call.rhs = wideRight ? makeTensor(right, {2, 3, k, n})
                         : makeTensor(right, {3, k, n}); // with a lower rank
    call.out = makeTensor(out, {2, 3, m, n});
    ASSERT_EQ(run(call), "");
    for (int64_t b = 0; b != 6; ++b)
      for (int64_t i = 0; i != m; ++i)
        for (int64_t j = 0; j != n; ++j) {
          double sum = 0;
          for (int64_t d = 0; d != k; ++d)
            sum +=
                double(left[size_t(((wideLeft ? b : b % 3) * m + i) * k + d)]) *
                double(
                    right[size_t(((wideRight ? b : b % 3) * k + d) * n + j)]);
          ASSERT_NEAR(double(out[size_t((b * m + i) * n + j)]), sum, inFloat32)
              << "case " << which;
        }
  }
}

TEST_F(Primitives, makesSoftmaxAndZerosOfHiddenRows) {
  const int64_t rows = 4, columns = 19;
  for (bool inPlace : {false, true}) {
    std::vector<float> input = randomFloats(size_t(rows * columns), 3);
    std::fill_n(input.begin() + columns, columns,
                -HUGE_VALF);                 // all of row 1
    input[size_t(2 * columns)] = -HUGE_VALF; // the first in row 2
    std::vector<float> before = input, out(input.size(), NAN);
    transom_onednn_call call{};
    call.primitive = TRANSOM_ONEDNN_SOFTMAX;
    call.input = makeTensor(input, {2, 2, columns});
    call.out = inPlace ? call.input : makeTensor(out, {2, 2, columns});
    ASSERT_EQ(run(call), "");
    const std::vector<float> &got = inPlace ? input : out;
    for (int64_t r = 0; r != rows; ++r) {
      double sum = 0;
      for (int64_t i = 0; i != columns; ++i)
        sum += std::exp(double(before[size_t(r * columns + i)]));
      for (int64_t i = 0; i != columns; ++i) {
        double value = std::exp(double(before[size_t(r * columns + i)]));
        EXPECT_NEAR(double(got[size_t(r * columns + i)]),
                    sum > 0 ? value / sum : 0.0, 1e-6);
      }
    }
  }
}

TEST_F(Primitives, normalizesRows) {
  const int64_t rows = 3, columns = 50;
  const double epsilon = 1e-3;
  std::vector<float> gamma = randomFloats(size_t(columns), 5),
                     beta = randomFloats(size_t(columns), 6);
  for (bool hasBeta : {false, true})
    for (bool inPlace : {false, true}) {
      std::vector<float> input = randomFloats(size_t(rows * columns), 7);
      std::vector<float> before = input, out(input.size(), NAN);
      transom_onednn_call call{};
      call.primitive = TRANSOM_ONEDNN_LAYER_NORM;
      call.epsilon = epsilon;
      call.input = makeTensor(input, {rows, columns});
      call.out = inPlace ? call.input : makeTensor(out, {rows, columns});
      call.weights = gamma.data();
      call.bias = hasBeta ? beta.data() : nullptr;
      ASSERT_EQ(run(call), "");
      const std::vector<float> &got = inPlace ? input : out;
      for (int64_t r = 0; r != rows; ++r) {
        double mean = 0, variance = 0;
        for (int64_t i = 0; i != columns; ++i)
          mean += double(before[size_t(r * columns + i)]) / columns;
        for (int64_t i = 0; i != columns; ++i)
          variance +=
              std::pow(double(before[size_t(r * columns + i)]) - mean, 2) /
              columns;
        for (int64_t i = 0; i != columns; ++i) {
          double value = (double(before[size_t(r * columns + i)]) - mean) /
                             std::sqrt(variance + epsilon) *
                             double(gamma[size_t(i)]) +
                         (hasBeta ? double(beta[size_t(i)]) : 0.0);
          ASSERT_NEAR(double(got[size_t(r * columns + i)]), value, inFloat32);
        }
      }
    }
}

} // namespace
