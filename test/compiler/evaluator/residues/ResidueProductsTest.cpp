// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMMs by rows equal single-row results for all elements.
#include "compiler/evaluator/residues/Residues.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

class ResidueProducts : public ::testing::TestWithParam<int> {
protected:
  ResidueProducts() : domain("key", GetParam(), Rounding::Erased) {}

  /// Compares a, [m, k], times b transposed, [n, k], with single sums.
  void expectSums(const std::vector<Number> &inits,
                  const std::vector<Number> &a, const std::vector<Number> &b,
                  int64_t m, int64_t n) {
    DomainScope scope(&domain);
    const int64_t k = static_cast<int64_t>(a.size()) / m;
    std::vector<Number> out(m * n);
    domain.dotRows(inits, a, b.data(), m, n, out.data());
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const Number single = domain.dot(inits.empty() ? Number() : inits[j],
                                         &a[i * k], 1, &b[j * k], 1, k);
        const Number byRows = out[i * n + j];
        ASSERT_EQ(byRows.isReference(), single.isReference());
        ASSERT_EQ(domain.get(byRows).p, domain.get(single).p);
        ASSERT_EQ(domain.get(byRows).q, domain.get(single).q);
      }
  }

  std::vector<Number> getLeaves(const char *name, int64_t count) {
    std::vector<Number> leaves(count);
    domain.getLeaves(name, leaves);
    return leaves;
  }

  Residues domain;
};

} // namespace

TEST_P(ResidueProducts, areSumsOfProducts) {
  expectSums({}, getLeaves("a", 3 * 5), getLeaves("b", 7 * 5), 3, 7);
  expectSums(getLeaves("bias", 7), getLeaves("a", 3 * 5), getLeaves("b", 7 * 5),
             3, 7);
  expectSums({}, {}, getLeaves("b", 5), 1, 5);
}

TEST_P(ResidueProducts, mayBeSharedByThreads) {
  expectSums(getLeaves("bias", 33), getLeaves("a", 16 * 257),
             getLeaves("b", 33 * 257), 16, 33);
}

TEST_P(ResidueProducts, areTheSameWhenTheyAreLookedUp) {
  std::vector<Number> a = getLeaves("a", 3 * 5), b = getLeaves("b", 4 * 5);
  expectSums(getLeaves("bias", 4), a, b, 3, 4);
  expectSums(getLeaves("other", 4), a, b, 3, 4);
  DomainScope scope(&domain);
  const std::vector<Number> gone(4, domain.exp(a[0])); // without an exponent
  expectSums(gone, a, b, 3, 4);
  std::rotate(b.begin(), b.begin() + 5, b.end()); // another column order
  std::swap(a[0], a[1]);                          // another row
  b[7] = b[8];                                    // another column
  expectSums({}, a, b, 3, 4);
}

TEST_P(ResidueProducts, leaveOtherNumbersToSingleSums) {
  std::vector<Number> a = getLeaves("a", 4 * 3), b = getLeaves("b", 4 * 3);
  DomainScope scope(&domain);
  a[0] = 0.0;               // a row with a zero
  a[3] = a[4] = a[5] = 0.0; // a zero row
  a[6] = 2.0;               // an integer
  a[9] = domain.exp(a[9]);  // without an exponent
  b[1] = 0.0;
  b[3] = b[4] = b[5] = 0.0;
  b[6] = getHidden();
  b[9] = domain.normalized(b[10]);
  expectSums({}, a, b, 4, 4);
  expectSums({getHidden(), 1.0, b[0], 0.0}, a, b, 4, 4);
}

INSTANTIATE_TEST_SUITE_P(lanes, ResidueProducts, ::testing::Values(1, 2));
