// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parallel sums equal `dot` for all sizes.
#include "compiler/evaluator/Number.h"
#include <gtest/gtest.h>
#include <random>

using namespace transom;

namespace {

std::vector<Number> makeNumbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> any(-1, 1);
  std::vector<Number> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(any(random));
  return numbers;
}

TEST(Float64Products, are_single_sums) {
  for (int64_t m : {1, 2, 3, 5})
    for (int64_t n : {1, 3, 4, 9})
      for (int64_t k : {0, 1, 7, 100}) {
        const std::vector<Number> a = makeNumbers(m * k, 1),
                                  b = makeNumbers(n * k + 1, 2);
        for (const std::vector<Number> &inits :
             {std::vector<Number>(), makeNumbers(n, 3)}) {
          std::vector<Number> out(m * n), bf16(m * n);
          dotRows(inits, a, b.data(), m, n, out.data());
          dotRowsBf16(true, inits, a, b.data(), m, n, bf16.data());
          for (int64_t i = 0; i < m * n; ++i) {
            const Number init = inits.empty() ? Number() : inits[i % n];
            const Number sum =
                dot(init, a.data() + i / n * k, 1, &b[i % n * k], 1, k);
            ASSERT_EQ(out[i].real(), sum.real()) << m << " " << n << " " << k;
            ASSERT_EQ(bf16[i].real(), sum.real());
          }
        }
      }
}

} // namespace
