// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked sizes.
#include "runtime/base/Checked.h"
#include <gtest/gtest.h>

using namespace transom;

TEST(CheckedSize, computes) {
  EXPECT_EQ((CheckedSize(3) * 4 + 5 - 1).value(), 16u);
  EXPECT_EQ(CheckedSize(65).alignUp(64).value(), 128u);
  EXPECT_EQ(CheckedSize(64).alignUp(64).value(), 64u);
  EXPECT_EQ(CheckedSize(0).alignUp(4096).value(), 0u);
}

TEST(CheckedSize, overflow_sticks) {
  CheckedSize big(UINT64_MAX);
  EXPECT_EQ(big.value(), UINT64_MAX);
  EXPECT_FALSE((big + 1).value());
  EXPECT_FALSE((big * 2).value());
  EXPECT_FALSE(((big + 1) * 0).value()) << "an overflow must not be undone";
  EXPECT_FALSE((CheckedSize(1) - 2).value());
  EXPECT_FALSE(big.alignUp(4096).value());
  EXPECT_FALSE(CheckedSize::fromSigned(-1).value());
  EXPECT_FALSE((CheckedSize(2) * CheckedSize::fromSigned(-1)).value());
}

TEST(CheckedSize, signed_value_excludes_the_upper_half) {
  EXPECT_EQ(CheckedSize(INT64_MAX).signedValue(), INT64_MAX);
  EXPECT_FALSE(CheckedSize(uint64_t(INT64_MAX) + 1).signedValue());
}
