// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The laws that residues obey, and the differences that they preserve.
#include "compiler/evaluator/residues/Residues.h"
#include "compiler/evaluator/NormsAndActivations.h"
#include "compiler/evaluator/residues/ResidueField.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

class ResidueLaws : public ::testing::TestWithParam<int> {
protected:
  Number leaf(int64_t i) { return domain.getLeaf("x", i); }
  bool equal(Number a, Number b) { return domain.get(a) == domain.get(b); }

  Residues domain{"key", GetParam(), Rounding::Erased};
  DomainScope scope{&domain};
};

} // namespace

TEST(ResidueField, reducesAllWideNumbers) {
  using Wide = unsigned __int128;
  for (Wide x : {Wide(0), Wide(ModP::value), Wide(ModP::value) - 1,
                 Wide(ModP::value) * ModP::value, ~Wide(0) >> 1}) {
    EXPECT_EQ(ModP::reduce(x), static_cast<uint64_t>(x % ModP::value));
    EXPECT_EQ(ModQ::reduce(x), static_cast<uint64_t>(x % ModQ::value));
  }
  EXPECT_EQ(ModP::fromInteger(-3), ModP::value - 3);
  EXPECT_EQ(ModP::multiply(ModP::invert(12345), 12345), 1u);
  EXPECT_EQ(ModP::power(omega, ModQ::value), 1u);
}

TEST_P(ResidueLaws, keepsTheLawsOfAField) {
  Number a = leaf(0), b = leaf(1), c = leaf(2);
  EXPECT_TRUE(equal((a + b) * c, c * a + b * c));
  EXPECT_TRUE(equal(a / b * b, a));
  EXPECT_TRUE(equal(a - b, -(b - a)));
  EXPECT_TRUE(equal(a / 3.0 + a / 3.0 + a / 3.0, a));
  EXPECT_FALSE(equal(a, b));
  EXPECT_FALSE(equal(a, domain.getLeaf("y", 0)));
  Number left[] = {a, b, 0.0, 2.0}, right[] = {b, c, a, a};
  EXPECT_TRUE(equal(dot(c, left, right), c + a * b + b * c + Number(2.0) * a));
}

TEST_P(ResidueLaws, computesWholeNumbersAsTheyAre) {
  EXPECT_EQ((Number(3.0) * 4.0 - 5.0).real(), 7);
  Number left[] = {1.0, 2.0}, right[] = {3.0, 4.0};
  EXPECT_EQ(dot(1.0, left, right).real(), 12);
  EXPECT_TRUE((Number(1.0) / 3.0).isReference());
}

TEST_P(ResidueLaws, turnsSumsOfExponentsIntoProducts) {
  Number a = leaf(0), b = leaf(1);
  EXPECT_TRUE(equal(exp(a + b), exp(a) * exp(b)));
  EXPECT_TRUE(equal(exp(a) * exp(-a), 1.0));
  EXPECT_FALSE(equal(exp(a + a), exp(a)));
  // An exponential's result can be an exponent only by its hash.
  EXPECT_TRUE(equal(exp(exp(a)), exp(exp(a))));
  EXPECT_FALSE(equal(exp(exp(a) + exp(b)), exp(exp(a)) * exp(exp(b))));
}

TEST_P(ResidueLaws, softmaxSeesNoShiftAndNoHiddenKey) {
  Number a = leaf(0), b = leaf(1), c = leaf(2);
  std::vector<Number> row = {a, b, c}, shifted = {a + c, b + c, c + c},
                      hidden = {a, -3.4e38, b, c}, none = {-1e30, getHidden()};
  for (auto *values : {&row, &shifted, &hidden, &none})
    softmax(*values);
  for (int i : {0, 1, 2})
    EXPECT_TRUE(equal(row[i], shifted[i]));
  EXPECT_TRUE(equal(row[1], hidden[2]));
  EXPECT_EQ(hidden[1].real(), 0);
  EXPECT_EQ(none[0].real(), 0);
}

TEST_P(ResidueLaws, hiddenAbsorbsSumsAndIsZeroTimesZero) {
  Number a = leaf(0);
  EXPECT_TRUE(isHidden(a + getHidden()));
  EXPECT_TRUE(isHidden(getHidden() - a));
  EXPECT_TRUE(isHidden((Number(1.0) - 0.0) * -3.4e38));
  EXPECT_EQ(((Number(1.0) - 1.0) * -3.4e38).real(), 0);
  EXPECT_EQ(exp(getHidden()).real(), 0);
  EXPECT_FALSE(isHidden(constant(-1e4) + a));
}

TEST_P(ResidueLaws, addsAngles) {
  auto [c3, s3] = getAngle(0.37, 3);
  auto [c5, s5] = getAngle(0.37, 5);
  auto [c8, s8] = getAngle(0.37, 8);
  EXPECT_TRUE(equal(c8, c3 * c5 - s3 * s5));
  EXPECT_TRUE(equal(s8, s3 * c5 + c3 * s5));
  EXPECT_TRUE(equal(c3 * c3 + s3 * s3, 1.0));
  EXPECT_FALSE(equal(c3, getAngle(0.36, 3).first));
}

TEST_P(ResidueLaws, ordersAllNumbers) {
  for (int64_t i = 0; i < 20; ++i) {
    Number a = leaf(i), b = leaf(i + 1);
    EXPECT_EQ(domain.compare(a, b), -domain.compare(b, a));
    EXPECT_NE(domain.compare(a, b), 0);
    EXPECT_EQ(domain.compare(a + b, b + a), 0);
    Number row[] = {a, b, getHidden()}, turned[] = {getHidden(), b, a};
    EXPECT_TRUE(equal(getMaximum(row), getMaximum(turned)));
  }
}

TEST_P(ResidueLaws, keepsDifferentFormulasOfActivationsApart) {
  Number x = leaf(0);
  EXPECT_TRUE(equal(activate(Activation::Silu, x),
                    activate(Activation::Sigmoid, x) * x));
  EXPECT_TRUE(equal(
      activate(Activation::Rsqrt, x) * activate(Activation::Sqrt, x), 1.0));
  EXPECT_FALSE(
      equal(activate(Activation::Gelu, x), activate(Activation::GeluTanh, x)));
}

TEST_P(ResidueLaws, releasesWhatWasMade) {
  size_t mark = domain.mark();
  Number product = leaf(0) * leaf(1);
  Residue kept = domain.get(product);
  domain.release(mark);
  EXPECT_EQ(domain.mark(), mark);
  EXPECT_EQ(domain.get(leaf(0) * leaf(1)), kept);
}

TEST(Residues, roundsOpaquelyByType) {
  Residues domain("key", 1, Rounding::Opaque);
  DomainScope scope(&domain);
  Number x = domain.getLeaf("x", 0);
  auto bf16 = [](Number x) { return roundToStorage(StorageType::BF16, x); };
  EXPECT_NE(domain.get(bf16(x)), domain.get(x));
  EXPECT_EQ(domain.get(bf16(bf16(x))), domain.get(bf16(x)));
  EXPECT_NE(domain.get(bf16(x)),
            domain.get(roundToStorage(StorageType::I8, x)));
  EXPECT_EQ(domain.get(roundToStorage(StorageType::F32, x)), domain.get(x));
  EXPECT_EQ(bf16(1.0).real(), 1);
}

TEST_P(ResidueLaws, roundsWeightsAsTheSameNumbers) {
  Residues opaque("key", GetParam(), Rounding::Opaque);
  DomainScope scope(&opaque);
  const size_t mark = opaque.mark();
  for (int64_t i = 0; i < 3; ++i) {
    const Number weight = opaque.getLeaf("x", i);
    for (StorageType first : {StorageType::BF16, StorageType::I8})
      for (StorageType second : {StorageType::BF16, StorageType::I8}) {
        opaque.release(mark);
        const Number once = roundToStorage(first, weight);
        const Number twice = roundToStorage(second, once);
        EXPECT_EQ(opaque.mark(), mark); // rounded weights take no memory
        const Number copy =
            roundToStorage(first, opaque.put(opaque.get(weight)));
        EXPECT_EQ(opaque.get(once), opaque.get(copy));
        EXPECT_EQ(opaque.get(once).q, opaque.get(copy).q);
        EXPECT_EQ(opaque.get(twice), opaque.get(roundToStorage(second, copy)));
      }
  }
}

TEST_P(ResidueLaws, keepsManyNumbers) {
  const size_t mark = domain.mark();
  const Residue first = domain.get(leaf(0) + leaf(1));
  std::vector<Number> sums;
  for (int64_t i = 0; i < 200000; ++i)
    sums.push_back(leaf(i) + leaf(i + 1));
  EXPECT_EQ(domain.get(sums[0]), first);
  for (int64_t i = 0; i < 200000; i += 997)
    EXPECT_EQ(domain.get(sums[i]), domain.get(leaf(i) + leaf(i + 1)));
  domain.release(mark);
  EXPECT_EQ(domain.get(leaf(0) + leaf(1)), first);
}

TEST(Residues, dependOnTheKeyText) {
  Residues a("a", 1, Rounding::Erased), b("b", 1, Rounding::Erased),
      again("a", 1, Rounding::Erased);
  EXPECT_NE(a.get(a.getLeaf("x", 0)), b.get(b.getLeaf("x", 0)));
  EXPECT_EQ(a.get(a.getLeaf("x", 0)), again.get(again.getLeaf("x", 0)));
}

INSTANTIATE_TEST_SUITE_P(lanes, ResidueLaws, ::testing::Values(1, 2));
