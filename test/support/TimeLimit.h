// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times that tests measure. A time is significant only on an idle host, so
// ctest records it and `test/bench/time-limits` also compares it with a limit.
#ifndef TRANSOM_TEST_SUPPORT_TIMELIMIT_H
#define TRANSOM_TEST_SUPPORT_TIMELIMIT_H

#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <string>

namespace transom::test {

/// This process's CPU time in seconds, without other processes.
inline double processorSeconds() { return double(clock()) / CLOCKS_PER_SEC; }

/// Records a measured time, and with TRANSOM_TIMED=1 expects it below `limit`.
inline void expectSeconds(double seconds, double limit) {
  ::testing::Test::RecordProperty("seconds", std::to_string(seconds));
  if (std::getenv("TRANSOM_TIMED"))
    EXPECT_LT(seconds, limit);
}

} // namespace transom::test

#endif
