// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors for tokens and logits in a source.
#include "runtime/generate/LogitsSource.h"
#include <gtest/gtest.h>
#include <string>

using namespace transom;

TEST(LogitsSource, tokens_lie_in_the_vocabulary) {
  const int64_t tokens[] = {0, 4, 5, -1};
  EXPECT_TRUE(checkTokens(tokens, 2, 5, "prompt 0"));
  EXPECT_TRUE(checkTokens(nullptr, 0, 5, "prompt 0"));
  Result<void> outside = checkTokens(tokens, 3, 5, "prompt 0");
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().status, Status::Rejected);
  EXPECT_NE(outside.error().message.find("prompt 0"), std::string::npos);
  EXPECT_NE(outside.error().message.find('5'), std::string::npos);
  EXPECT_FALSE(checkTokens(tokens + 3, 1, 5, "prompt 0"));
}

TEST(LogitsSource, non_finite_logits_name_position_and_sequence) {
  Error error = nonFiniteLogit(7, "prompt 3");
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message, "prompt 3: non-finite logit at position 7: the "
                           "weights or the input give NaN or infinity");
}
