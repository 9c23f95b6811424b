// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The random numbers for sampling.
#include "runtime/generate/Random.h"
#include <gtest/gtest.h>

using namespace transom;

TEST(Random, known_answers) {
  // Random123's kat_vectors for philox4x32-10: zeros, and digits from pi.
  auto fraction = [](uint64_t low, uint64_t high) {
    return double((high << 32 | low) >> 11) * 0x1p-53;
  };
  EXPECT_EQ(getUniform(0, 0, 0), fraction(0x6627e8d5, 0xe169c58d));
  EXPECT_EQ(
      getUniform(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
      fraction(0xd16cfe09, 0x94fdcceb));
}
