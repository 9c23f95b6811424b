// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How constants are mapped to residues.
#include "compiler/evaluator/residues/Residues.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// Values that are not roots of fractions.
constexpr double first = 0.1234567890123, second = 0.7654321098765;

struct Constants {
  bool equal(Number a, Number b) { return domain.get(a) == domain.get(b); }

  Residues domain{"key", 1, Rounding::Erased};
  DomainScope scope{&domain};
};

} // namespace

TEST(ResidueConstants, areExact) {
  Constants c;
  EXPECT_TRUE(c.equal(constant(0.375) * 8.0, 3.0));
  EXPECT_TRUE(c.equal(constant(-first) + constant(first), 0.0));
  EXPECT_EQ(constant(7).real(), 7);
  EXPECT_TRUE(c.domain.getEqualConstants().empty());
}

TEST(ResidueConstants, areRootsOfFractions) {
  Constants c;
  Number half = constant(std::sqrt(0.5)), third = constant(std::sqrt(1.0 / 3));
  EXPECT_TRUE(c.equal(half * half * 2.0, 1.0));
  EXPECT_TRUE(c.equal(third * third * 3.0, 1.0));
  EXPECT_TRUE(c.equal(constant(-std::sqrt(0.5)) + half, 0.0));
  EXPECT_EQ(c.domain.getEqualConstants().front(),
            "0.70710678118654757 = sqrt(1/2)");
}

// 17 and 19 have no root modulo p and q.
TEST(ResidueConstants, arePowersOfRootsThatDoNotExist) {
  Constants c;
  for (double width : {17.0, 19.0, 34.0, 38.0}) {
    const double scale = 1 / std::sqrt(width);
    Number whole = constant(scale), half = constant(std::sqrt(scale));
    EXPECT_TRUE(c.equal(half * half, whole)) << width;
    EXPECT_TRUE(c.equal(constant(std::sqrt(width)) * whole, 1.0)) << width;
    EXPECT_TRUE(c.equal(constant(scale / 3) * 3.0, whole)) << width;
    EXPECT_FALSE(c.equal(whole * whole * width, 1.0)) << width;
    EXPECT_FALSE(c.equal(whole, constant(1 / std::sqrt(width + 2)))) << width;
  }
}

TEST(ResidueConstants, areFourthRootsThatMultiplyToRoots) {
  Constants c;
  for (double width : {2.0, 3.0, 6.0, 7.0, 8.0, 26.0, 0.6}) {
    const double root = 1 / std::sqrt(std::sqrt(width));
    Number half = constant(root), whole = constant(root * root);
    EXPECT_TRUE(c.equal(half * half, whole)) << width;
    EXPECT_TRUE(c.equal(constant(-root) + half, 0.0)) << width;
    EXPECT_TRUE(c.equal(whole, constant(1 / std::sqrt(width)))) << width;
  }
  EXPECT_EQ(c.domain.getEqualConstants().front(),
            "0.84089641525371461 = (1/2)^(1/4)");
}

TEST(ResidueConstants, areRootsOfFractionsInFloat32) {
  Constants c;
  const double root = 1.41421354; // half of it is also sqrt(1/2) in f32
  Number two = constant(static_cast<float>(root)),
         half = constant(std::sqrt(0.5));
  EXPECT_TRUE(c.equal(two * half, 1.0));
  c.domain.deriveConstants();
  EXPECT_TRUE(c.equal(constant(static_cast<float>(std::sqrt(0.5))), half));
  EXPECT_TRUE(c.equal(constant(1 / static_cast<double>(1.41421354f)), half));
  EXPECT_EQ(c.domain.getEqualConstants().front(),
            "1.4142135381698608 = f32 of sqrt(2/1)");
  // The float next to a root is another number.
  Number next = constant(std::nextafter(1.41421354f, 2.0f));
  EXPECT_FALSE(c.equal(next, two));
}

TEST(ResidueConstants, areRoundedBeforeTheyAreMultiplied) {
  Constants c;
  const auto rounded = static_cast<double>(static_cast<float>(first));
  Number a = constant(first), twice = constant(2 * rounded);
  constant(0.5);
  c.domain.deriveConstants();
  EXPECT_TRUE(c.equal(constant(rounded), a)); // not `twice` times 0.5
  EXPECT_FALSE(c.equal(twice, a * 2.0));
}

TEST(ResidueConstants, areDerivedFromKnownOnesOnlyOnRequest) {
  Constants c;
  Number a = constant(first), b = constant(second);
  EXPECT_FALSE(c.equal(constant(first * second), a * b));
  c.domain.deriveConstants();
  EXPECT_TRUE(c.equal(constant(first / second), a / b));
  EXPECT_TRUE(c.equal(constant(static_cast<float>(first)), a));
  EXPECT_TRUE(c.equal(constant(1 / second), Number(1.0) / b));
  EXPECT_FALSE(c.equal(constant(first + 1e-6), a));
  EXPECT_EQ(c.domain.getEqualConstants().size(), 3u);
}

// A pass that divides by a constant, and one that divides its scale by another,
// may run between two checks.
TEST(ResidueConstants, areDerivedFromTwoDivisions) {
  Constants c;
  Number a = constant(first), b = constant(std::sqrt(1.0 / 7));
  c.domain.deriveConstants();
  Number quotient = constant(1 / first / std::sqrt(1.0 / 7));
  EXPECT_TRUE(c.equal(quotient * a * b, 1.0));
}
