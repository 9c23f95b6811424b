// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel chains have the same bits as single chains, which follow the
// definition here.
#include "compiler/evaluator/bits/BitsMath.h"
#include "runtime/base/DType.h"
#include "runtime/base/InstructionSet.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace transom;
using namespace transom::bits;

namespace {

/// bf16 values with many magnitudes.
std::vector<float> makeNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> any(-1, 1), power(-12, 12);
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(bfloat16ToFloat(
        floatToBfloat16(std::exp2(power(random)) * any(random))));
  return numbers;
}

using Row = std::vector<float>;

float addInOrder(float sum, const Row &a, const Row &b) {
  for (size_t i = 0; i < a.size(); ++i)
    sum = std::fma(a[i], b[i], sum);
  return sum;
}

float addInTiles(float sum, const Row &a, const Row &b) {
  for (size_t first = 0; first < a.size(); first += 32) {
    float chains[2] = {0, 0};
    for (size_t i = first; i < std::min(a.size(), first + 32); ++i)
      chains[i % 2] = std::fma(a[i], b[i], chains[i % 2]);
    sum = sum + (chains[0] + chains[1]);
  }
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512vl,avx512bf16"))) float
addPairs(float sum, const Row &a, const Row &b) {
  auto getPair = [](const Row &row, size_t i) {
    const uint32_t second =
        i + 1 < row.size() ? floatToBfloat16(row[i + 1]) : 0;
    return static_cast<int>(second << 16 | floatToBfloat16(row[i]));
  };
  for (size_t i = 0; i < a.size(); i += 2)
    sum = _mm_cvtss_f32(_mm_dpbf16_ps(_mm_set_ss(sum),
                                      (__m128bh)_mm_set1_epi32(getPair(a, i)),
                                      (__m128bh)_mm_set1_epi32(getPair(b, i))));
  return sum;
}
#else
float addPairs(float, const Row &, const Row &) { return NAN; }
#endif

float addOne(Chain chain, float sum, const Row &a, const Row &b) {
  switch (chain) {
  case Chain::F32:
    return addInOrder(sum, a, b);
  case Chain::Bf16:
    return addInOrder(sum, a, b) + 0.0f;
  case Chain::Dot:
    return addPairs(sum, a, b);
  case Chain::Amx:
    return addInTiles(sum, a, b);
  }
  return NAN;
}

void expectSingleChains(Chain chain, int64_t m, int64_t n, int64_t count) {
  SCOPED_TRACE(testing::Message() << "chain " << static_cast<int>(chain) << " "
                                  << m << " x " << n << " x " << count);
  const Row a = makeNumbers(m * count, 1), b = makeNumbers(n * count, 2);
  Row sums = makeNumbers(m * n, 3);
  const Row inits = sums;
  multiply(chain, a.data(), m, b.data(), n, count, sums.data());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const Row row(&a[i * count], &a[i * count] + count);
      const Row column(&b[j * count], &b[j * count] + count);
      ASSERT_EQ(sums[i * n + j], addOne(chain, inits[i * n + j], row, column))
          << i << ", " << j;
    }
  if (m != 1)
    return;
  Row again = inits;
  dotRows(chain, again, a.data(), b.data(), count);
  EXPECT_EQ(again, sums);
}

TEST(BitsProducts, are_single_chains) {
  for (Chain chain : {Chain::F32, Chain::Bf16, Chain::Dot, Chain::Amx}) {
    if (!runsHere(chain))
      continue;
    // Rows, columns and elements that fill blocks, and partial blocks.
    for (int64_t m : {1, 2, 3, 4, 9})
      for (int64_t n : {1, 15, 16, 33})
        for (int64_t count : {1, 2, 31, 32, 33, 95})
          expectSingleChains(chain, m, n, count);
  }
}

TEST(BitsProducts, differ_by_their_order) {
  // The odd chain loses the 1 in the even one only where both are one chain.
  const Row a = {1, 1e8f, 1, -1e8f}, b = {1, 1, 1, 1};
  auto add = [&](Chain chain) {
    float sum = 0;
    multiply(chain, a.data(), 1, b.data(), 1, 4, &sum);
    return sum;
  };
  EXPECT_EQ(add(Chain::F32), 0);
  EXPECT_EQ(add(Chain::Bf16), 0);
  EXPECT_EQ(add(Chain::Amx), 2);
  EXPECT_EQ(dot(0, a.data(), b.data(), 4), 0);
}

TEST(BitsProducts, pair_a_last_number_with_zero) {
  const float a = -1, b = 0;
  for (Chain chain : {Chain::F32, Chain::Bf16, Chain::Dot}) {
    float sum = -0.0f;
    multiply(chain, &a, 1, &b, 1, 1, &sum);
    if (runsHere(chain))
      EXPECT_EQ(std::signbit(sum), chain == Chain::F32);
  }
}

} // namespace
