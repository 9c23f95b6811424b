// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Penalties, biases and excluded tokens, tested through the resulting choice.
#include "runtime/generate/LogitProcessors.h"
#include "runtime/generate/Softmax.h"
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

TEST(LogitProcessors, forced_tokens) {
  auto first = resolved([](auto &c) { c.forcedBegin = 1; });
  EXPECT_EQ(choose(first, {9, 1, 5}, {0}, 1), 1);
  EXPECT_EQ(choose(first, {9, 1, 5}, {0, 1}, 1), 0);
  EXPECT_EQ(choose(first, {9, 1, 5}, {0, 1}, 2), 0);
  auto off = resolved([](auto &c) {
    c.forcedBegin = -1;
    c.forcedEnd = {-1};
  });
  EXPECT_EQ(choose(off, {9, 1, 5}, {0}, 1), 0);
  // Suppression at the beginning waits for the token after the forced one.
  auto both = resolved([](auto &c) {
    c.forcedBegin = 1;
    c.suppressedAtBegin = {0, 1};
  });
  EXPECT_EQ(choose(both, {9, 1, 5}, {0}, 1), 1);
  EXPECT_EQ(choose(both, {9, 1, 5}, {0, 1}, 1), 2);
  EXPECT_EQ(choose(both, {9, 1, 5}, {0, 1}, 2), 2);
}

/// A row's log-probabilities after the processors: as a list of changes, and in
/// a row copy.
TEST(LogitProcessors, edits_are_the_changes_of_a_row) {
  auto config = resolved([](auto &c) {
    c.repetitionPenalty = 1.5;
    c.frequencyPenalty = 0.25;
    c.noRepeatNgramSize = 2;
    c.logitBias = {{6, 2}, {3, -1}};
    c.suppressed = {4};
    c.forcedEnd = {2, 4};
  });
  const std::vector<float> logits = {1, -2, 3, 0.5f, 2, -1, 0, 4};
  const std::vector<int64_t> tokens = {3, 7, 1, 3};
  for (size_t maxLength : {size_t(5), size_t(9)}) {
    SamplingPosition position{tokens.data(), tokens.size(), 2};
    position.maxLength = maxLength;
    LogitProcessors processors(config, 8);
    const double sum = logSumExp(logits.data(), 8);
    std::vector<float> copy;
    for (float logit : logits)
      copy.push_back(float(double(logit) - sum));
    DenseRow dense(copy.data(), 8);
    processors.apply(dense, position);
    EditedRow edited(8);
    edited.begin(logits.data(), sum);
    edited.set(0, 77); // begin() forgets it
    edited.begin(logits.data(), sum);
    processors.apply(edited, position);
    EXPECT_EQ(edited.isUniform(), maxLength == 5);
    for (int64_t token = 0; token != 8; ++token)
      EXPECT_EQ(edited.get(token), copy[size_t(token)]) << token;
  }
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
