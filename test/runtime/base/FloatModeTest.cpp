// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Denormals are zero within a scope, and numbers again after it.
#include "runtime/base/FloatMode.h"
#include <gtest/gtest.h>

using namespace transom;

/// Half of a number; the compiler does not know it.
static float halve(float x) {
  volatile float given = x;
  return given * 0.5f;
}

TEST(FloatMode, denormals_are_zero_within_a_scope) {
  const float smallest = 1.17549435e-38f;
  const float denormal = smallest / 4;
  EXPECT_GT(halve(smallest), 0);
  {
    FloatMode mode;
    EXPECT_EQ(halve(smallest), 0) << "a result";
    volatile float given = denormal;
    EXPECT_EQ(given * 16777216.0f, 0) << "an operand";
    EXPECT_EQ(halve(3), 1.5f);
    FloatMode kept(Denormals::AreKept);
    EXPECT_GT(halve(smallest), 0);
  }
  EXPECT_GT(halve(smallest), 0);
}
