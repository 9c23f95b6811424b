// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Single operations in the bits domain: each rounds to f32, sums run in their
// fixed order. test/e2e compares complete models with machine code.
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "runtime/base/DType.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace transom;

namespace {

/// f32 values in [-1, 1).
std::vector<Number> makeNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> any(-1, 1);
  std::vector<Number> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(fromFloat(any(random)));
  return numbers;
}

TEST(Bits, round_after_each_operation) {
  Bits bits(*findInstructionSet("avx2"));
  DomainScope scope(&bits);
  const Number a = fromFloat(1 / 3.0f), b = fromFloat(1e-7f);
  EXPECT_EQ((a + b).real(), 1 / 3.0f + 1e-7f);
  EXPECT_EQ((a - b).real(), 1 / 3.0f - 1e-7f);
  EXPECT_EQ((a * b).real(), 1 / 3.0f * 1e-7f);
  EXPECT_EQ((a / b).real(), (1 / 3.0f) / 1e-7f);
  EXPECT_NE((a * b).real(), a.real() * b.real()) << "of float64";
  EXPECT_EQ(constant(0.1).real(), 0.1f);
  EXPECT_TRUE(std::signbit(negate(0.0).real()));
}

TEST(Bits, fuse_a_product_and_a_sum) {
  Bits bits(*findInstructionSet("avx2"));
  DomainScope scope(&bits);
  // (1 + e)^2 - 1 - 2e = e^2, which two roundings lose.
  const float e = 0x1p-20f, x = 1 + e;
  const Number rest = fromFloat(-1 - 2 * e);
  EXPECT_EQ(fma(fromFloat(x), fromFloat(x), rest).real(), 0x1p-40);
  EXPECT_EQ((fromFloat(x) * fromFloat(x) + rest).real(), 0);
  std::vector<Number> a = {fromFloat(x)}, b = {fromFloat(x)};
  EXPECT_EQ(dot(rest, a, b.data()).real(), 0x1p-40);
}

TEST(Bits, add_products_in_order_from_the_bias) {
  Bits bits(*findInstructionSet("avx2"));
  DomainScope scope(&bits);
  std::vector<Number> a = makeNumbers(101, 1), b = makeNumbers(101, 2);
  float sum = 0.25f;
  for (size_t i = 0; i < a.size(); ++i)
    sum = std::fma(toFloat(a[i]), toFloat(b[i]), sum);
  EXPECT_EQ(dot(0.25, a, b.data()).real(), sum);
  Number ofBf16;
  dotRowsBf16(/*inTiles=*/false, Number(0.25), a, b.data(), 1, 1, &ofBf16);
  EXPECT_EQ(ofBf16.real(), sum);
}

TEST(Bits, take_denormals_for_zero_but_move_them) {
  const Number denormal = 0x1p-130;
  Bits bits(*findInstructionSet("avx2"));
  {
    DomainScope scope(&bits);
    EXPECT_EQ((denormal + Number(0.0)).real(), 0);
    EXPECT_EQ((fromFloat(0x1p-100f) * fromFloat(0x1p-40f)).real(), 0);
    EXPECT_EQ(roundToStorage(StorageType::F32, denormal).real(), 0x1p-130);
    EXPECT_EQ(roundToStorage(StorageType::BF16, denormal).real(), 0x1p-130);
    EXPECT_EQ(roundToStorage(StorageType::BF16, Number(0x1p-135)).real(), 0);
  }
  volatile float half = 0.5f, smallest = 0x1p-126f;
  EXPECT_EQ(half * smallest, 0x1p-127f) << "the mode outside of the scope";
  Bits dot(*findInstructionSet("avx512bf16"));
  DomainScope scope(&dot);
  EXPECT_EQ(roundToStorage(StorageType::BF16, denormal).real(), 0)
      << "as vcvtneps2bf16 does";
}

TEST(Bits, round_to_bf16_to_nearest_even) {
  Bits bits(*findInstructionSet("avx2"));
  DomainScope scope(&bits);
  auto round = [](double x) {
    return roundToStorage(StorageType::BF16, Number(x)).real();
  };
  EXPECT_EQ(round(1 + 0x1p-8), 1);
  EXPECT_EQ(round(1 + 0x1.8p-7), 1 + 0x1p-6);
  EXPECT_EQ(round(1 + 0x1.02p-8), 1 + 0x1p-7);
  EXPECT_TRUE(std::isnan(round(NAN)));
}

TEST(Bits, sum_in_16_lanes) {
  // Only lane 0 has both large values, which cancel before 1 is added.
  std::vector<float> row(33);
  row[0] = 1e8f;
  row[16] = -1e8f;
  row[1] = 1;
  EXPECT_EQ(bits::sum(row.data(), 33), 1);
  row[16] = 0;
  row[17] = -1e8f; // lane 1 loses its 1
  EXPECT_EQ(bits::sum(row.data(), 33), 0);
}

TEST(Bits, normalize_rows) {
  std::vector<Number> row = makeNumbers(37, 3), gamma = makeNumbers(37, 4),
                      beta = makeNumbers(37, 5);
  std::vector<Number> expected = row;
  layerNorm(expected, gamma, &beta, 1e-5);
  std::vector<float> floats = toFloats(row), scale = toFloats(gamma),
                     shift = toFloats(beta);
  Bits domain(*findInstructionSet("avx2"));
  DomainScope scope(&domain);
  layerNorm(row, gamma, &beta, 1e-5);
  const float mean = bits::sum(floats.data(), 37) / 37.0f;
  std::vector<float> squares;
  for (float x : floats)
    squares.push_back((x - mean) * (x - mean));
  const float factor =
      1 / std::sqrt(bits::sum(squares.data(), 37) / 37.0f + 1e-5f);
  for (size_t i = 0; i < row.size(); ++i) {
    EXPECT_EQ(row[i].real(),
              std::fma((floats[i] - mean) * factor, scale[i], shift[i]));
    EXPECT_NEAR(row[i].real(), expected[i].real(), 1e-5);
  }
}

TEST(Bits, are_near_float64) {
  Bits domain(*findInstructionSet("avx2"));
  for (const ActivationInfo &info : getActivations())
    for (double x : {0.001, 0.37, 1.5, 4.0}) {
      DomainScope scope(&domain);
      EXPECT_NEAR(activate(info.kind, fromFloat(float(x))).real(),
                  info.evaluate(float(x)),
                  1e-5 * (1 + std::fabs(info.evaluate(x))))
          << info.name << " of " << x;
    }
  std::vector<Number> row = makeNumbers(70, 6), other = row;
  softmax(row);
  RowSummary summary = summarizeRow(other);
  DomainScope scope(&domain);
  RowSummary ours = summarizeRow(other);
  softmax(other);
  for (size_t i = 0; i < row.size(); ++i)
    EXPECT_NEAR(other[i].real(), row[i].real(), 1e-6);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ours.maxima[i].real(), summary.maxima[i].real());
    EXPECT_NEAR(ours.sums[i].real(), summary.sums[i].real(), 1e-4);
  }
}

TEST(Bits, hide_rows_without_a_visible_key) {
  Bits domain(*findInstructionSet("avx2"));
  DomainScope scope(&domain);
  std::vector<Number> row(20, getHidden());
  softmax(row);
  for (Number x : row)
    EXPECT_EQ(x.real(), 0);
}

TEST(Bits, keep_whole_numbers_of_a_head_apart_from_their_scale) {
  Bits domain(*findInstructionSet("avx2"));
  DomainScope scope(&domain);
  std::vector<Number> head = {1.0, -2.0, 0.5, 0.0};
  Number scale = domain.quantize(head, StorageType::I8);
  EXPECT_EQ(scale.real(), 2 / 127.0f);
  EXPECT_EQ(head[1].real(), -127);
  EXPECT_EQ(head[0].real(), 64) << "63.5 is rounded to even";
  EXPECT_EQ(head[2].real(), 32);
  std::vector<Number> none = {0.0, 0.0};
  EXPECT_EQ(domain.quantize(none, StorageType::I8).real(), 0);
  std::vector<Number> broken = {1.0, INFINITY};
  EXPECT_TRUE(std::isnan(domain.quantize(broken, StorageType::I8).real()));
}

TEST(Bits, quantize_groups_and_multiply_their_whole_numbers) {
  Bits domain(*findInstructionSet("avx2"));
  DomainScope scope(&domain);
  std::vector<Number> group = {1.0, -2.0, 0.5, 0.0};
  auto [scale, rowSum] = domain.quantizeGroup(group);
  EXPECT_EQ(scale.real(), 2 / 127.0f);
  EXPECT_EQ(rowSum.real(), 64 - 127 + 32);
  std::vector<Number> none(3, 0x1p-101);
  EXPECT_EQ(domain.quantizeGroup(none).first.real(), 0);
  EXPECT_EQ(none[0].real(), 0);
  std::vector<Number> broken = {1.0, INFINITY};
  EXPECT_TRUE(std::isnan(domain.quantizeGroup(broken).first.real()));

  // A row and a column with one group of two elements and one group of one.
  const std::vector<Number> a = {127.0, -3.0, 5.0}, ofA = {0.5, 2.0},
                            b = {2.0, 100.0, -7.0}, ofB = {0.25, 3.0},
                            bias = {1.0};
  std::vector<Number> products =
      Bits::multiplyGroups(bias, {a, ofA, {}}, {b, ofB, {}}, 3, /*group=*/2);
  ASSERT_EQ(products.size(), 1u);
  EXPECT_EQ(products[0].real(), 1 + (254 - 300) * 0.125 + -35 * 6.0);
  // With minimums.
  const std::vector<Number> minimums = {-2.0, 0.25};
  products = Bits::multiplyGroups(bias, {a, ofA, {}}, {b, ofB, minimums}, 3, 2);
  EXPECT_EQ(products[0].real(), 1 + (254 - 300) * 0.125 + 124 * 0.5 * -2 +
                                    -35 * 6.0 + 5 * 2 * 0.25);
}

/// Attention from one query to some keys with width 1.
std::vector<float> attendTo(const std::vector<bits::AttentionKey> &keys) {
  bits::AttentionParameters parameters;
  parameters.dk = parameters.dv = 1;
  parameters.scale = bits::log2E;
  const float query = 1;
  return bits::attend(parameters, &query, keys);
}

TEST(Bits, attend_by_kv_blocks_in_order) {
  std::vector<float> keys = toFloats(makeNumbers(600, 7)),
                     values = toFloats(makeNumbers(600, 8));
  std::vector<bits::AttentionKey> all(600);
  double sum = 0, product = 0;
  for (size_t i = 0; i < 600; ++i) {
    all[i].key = &keys[i];
    all[i].value = &values[i];
    sum += std::exp(double(keys[i]));
    product += std::exp(double(keys[i])) * values[i];
  }
  std::vector<float> whole = attendTo(all);
  EXPECT_NEAR(whole[0], product / sum, 1e-6);
  // A hidden KV block changes no bit.
  std::vector<bits::AttentionKey> late(256, all[0]);
  for (bits::AttentionKey &key : late)
    key.visible = false;
  late.insert(late.end(), all.begin(), all.end());
  EXPECT_EQ(attendTo(late), whole);
  for (bits::AttentionKey &key : all)
    key.visible = false;
  EXPECT_EQ(attendTo(all)[0], 0);
}

} // namespace
