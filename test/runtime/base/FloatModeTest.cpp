// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Denormals are zero within a scope, and preserved after it. Rounding is to
// nearest within a scope, whatever the thread's mode is.
#include "runtime/base/FloatMode.h"
#include <cfenv>
#include <gtest/gtest.h>

using namespace transom;

/// Halves a number; opaque to the compiler.
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

/// A third, and the same by the x87 unit if there is one.
static std::pair<float, long double> divide() {
  volatile float one = 1, three = 3;
  volatile long double longOne = 1, longThree = 3;
  return {one / three, longOne / longThree};
}

TEST(FloatMode, rounds_to_nearest_within_a_scope) {
  const auto nearest = divide();
  for (int mode : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO, FE_TONEAREST}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const auto own = divide();
    std::feclearexcept(FE_ALL_EXCEPT);
    {
      FloatMode inside;
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
      EXPECT_EQ(divide(), nearest);
      inside.leave();
      EXPECT_EQ(std::fegetround(), mode);
      EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
      inside.leave(); // changes nothing
      inside.enter();
      EXPECT_EQ(divide(), nearest);
    }
    EXPECT_EQ(std::fegetround(), mode);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0) << "flags are the thread's";
    EXPECT_EQ(divide(), own);
  }
  std::fesetround(FE_TONEAREST);
}

TEST(FloatMode, a_change_between_leave_and_enter_stays) {
  {
    FloatMode inside;
    inside.leave();
    std::fesetround(FE_UPWARD);
    inside.enter();
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  }
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
}
