// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Limits stop a mutant's excessive resource use.
#include "test/mutation/LimitedProcess.h"
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <vector>

using namespace transom::testing;

TEST(LimitedProcess, givesTheTextOfAFunction) {
  ProcessResult result = runLimited([] { return std::string(100000, 'x'); });
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.text, std::string(100000, 'x'));
}

TEST(LimitedProcess, changesNothingHere) {
  int number = 1;
  EXPECT_TRUE(runLimited([&] {
                number = 2;
                return std::string();
              }).finished);
  EXPECT_EQ(number, 1);
}

TEST(LimitedProcess, stopsWhatTakesTooMuchMemory) {
  ProcessResult result = runLimited(
      [] { return std::to_string(std::vector<char>(size_t(1) << 28).size()); },
      {30, 64});
  EXPECT_FALSE(result.finished) << result.text;
}

TEST(LimitedProcess, stopsWhatTakesTooLong) {
  ProcessResult result = runLimited(
      [] {
        for (volatile int i = 0;; i = i + 1) {
        }
        return std::string();
      },
      {1, 64});
  EXPECT_FALSE(result.finished);
}

TEST(LimitedProcess, namesTheSignalOfACrash) {
  ProcessResult result = runLimited([] {
    ::raise(SIGKILL);
    return std::string();
  });
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(result.text, "signal: Killed");
}
