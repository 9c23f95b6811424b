// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expects a status with its message.
#pragma once
#include "runtime/base/Error.h"
#include <gtest/gtest.h>

namespace transom::test {

inline void expectError(const Result<void> &result, Status status,
                        const std::string &text) {
  ASSERT_FALSE(result) << "expected: " << text;
  EXPECT_EQ(int(result.error().status), int(status)) << result.error().message;
  EXPECT_EQ(result.error().message, text);
}

} // namespace transom::test
