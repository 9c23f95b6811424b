// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Penalties, biases and excluded tokens, seen through the choice that they lead
// to.
#include "runtime/generate/LogitProcessors.h"
#include "test/runtime/generate/Choose.h"
#include <limits>

using namespace transom;
using namespace transom::test;

TEST(LogitProcessors, presence_and_frequency_count_new_tokens) {
  auto frequency = resolved([](auto &c) { c.frequencyPenalty = 0.6; });
  // Token 0 occurs twice among the new ones, token 1 in the prompt alone.
  EXPECT_EQ(choose(frequency, {3, 2.5f, 0}, {1, 1, 1, 0, 0}, 3), 1);
  EXPECT_EQ(choose(frequency, {3, 2.5f, 0}, {1, 1, 1, 0}, 3), 1);
  auto presence = resolved([](auto &c) { c.presencePenalty = 0.4; });
  EXPECT_EQ(choose(presence, {3, 2.5f, 0}, {1, 0, 0, 0}, 1), 0);
  auto both = resolved([](auto &c) {
    c.presencePenalty = 0.4;
    c.frequencyPenalty = 0.2;
  });
  EXPECT_EQ(choose(both, {3, 2.5f, 0}, {1, 0}, 1), 1);
}

TEST(LogitProcessors, bias_bans_and_wishes) {
  auto config = resolved([](auto &c) {
    c.logitBias = {{1, -std::numeric_limits<double>::infinity()}, {0, 5}};
  });
  EXPECT_EQ(choose(config, {1, 9, 5.5f}), 0);
  auto outside = resolved([](auto &c) { c.logitBias = {{77, 5}, {-1, 5}}; });
  EXPECT_EQ(choose(outside, {1, 9, 5.5f}), 1);
}

TEST(LogitProcessors, nothing_left_is_an_error) {
  auto config = resolved([](auto &c) {
    c.endTokens = {0, 1};
    c.minNewTokens = 1;
  });
  Sampler sampler(config, 2);
  float logits[2] = {1, 2};
  Result<int64_t> token = sampler.choose(logits, {});
  ASSERT_FALSE(bool(token));
  EXPECT_EQ(token.error().message, "no token is left to be chosen");
}

TEST(LogitProcessors, end_tokens_wait_for_the_least_number) {
  auto config = resolved([](auto &c) {
    c.endTokens = {2, 90};
    c.minNewTokens = 2;
  });
  EXPECT_EQ(choose(config, {1, 2, 3}, {0, 1}, 1), 1);
  EXPECT_EQ(choose(config, {1, 2, 3}, {0, 1, 1}, 1), 2);
}
