// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token scores, in one run and in windows.
#include "runtime/generate/Scores.h"
#include "test/runtime/generate/FakeSource.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

TEST(Scores, scores) {
  const std::vector<int64_t> text = makePrompts(5, 100)[4];
  // The reference log-probabilities.
  std::vector<double> expected;
  FakeSource model(40, 1, 10);
  for (size_t i = 1; i != text.size(); ++i) {
    std::vector<int64_t> past(text.begin(), text.begin() + int64_t(i));
    double sum = 0;
    for (int64_t token = 0; token != 40; ++token)
      sum += std::exp(double(model.getLogit(past, token)));
    expected.push_back(double(model.getLogit(past, text[i])) - std::log(sum));
  }
  // The same for several logit limits and first tokens.
  for (int64_t logitLimit : {1, 7, 64, 1000})
    for (size_t first : {size_t(1), size_t(20), text.size()}) {
      FakeSource source(40, 1, 10);
      source.logitLimit = logitLimit;
      Result<TokenScores> scores =
          scoreTokens(source, text.data(), text.size(), first, 2, "the text");
      ASSERT_TRUE(bool(scores)) << scores.error().message;
      ASSERT_EQ(scores->logprobs.size(), text.size() - first);
      for (size_t i = 0; i != scores->logprobs.size(); ++i)
        EXPECT_NEAR(scores->logprobs[i], expected[first - 1 + i], 1e-12);
      EXPECT_EQ(scores->top.size(), 2 * (text.size() - first));
      EXPECT_EQ(source.openCount(), 0u);
    }
  // Errors free the sequence.
  model.poisonAt = 9;
  EXPECT_FALSE(
      bool(scoreTokens(model, text.data(), text.size(), 1, 0, "the text")));
  EXPECT_EQ(model.openCount(), 0u);
  EXPECT_EQ(scoreTokens(model, nullptr, 0, 1, 0, "the text").error().message,
            "the text has no tokens to score");
}

TEST(Scores, texts_need_a_decoder) {
  FakeSource source(40, 1, 10);
  source.sourceLimit = 9;
  const std::vector<int64_t> text = {1, 2, 3};
  Result<TokenScores> scores =
      scoreTokens(source, text.data(), text.size(), 1, 0, "the text");
  ASSERT_FALSE(bool(scores));
  EXPECT_EQ(scores.error().status, Status::Unsupported);
}

TEST(Scores, windows_score_each_token_once) {
  std::vector<int64_t> text;
  for (int64_t i = 0; i != 103; ++i)
    text.push_back((i * i) % 40);
  FakeSource source(40, 1, 10, 20);
  Result<TextScore> score = scoreWindows(source, text, 20, 10, {});
  ASSERT_TRUE(bool(score)) << score.error().message;
  EXPECT_EQ(score->tokens, 102);
  EXPECT_EQ(score->windows, 10);
  // The reference: each window scores the tokens that the previous one did not.
  double sum = 0;
  for (size_t begin = 0, scored = 1; scored < text.size(); begin += 10) {
    const size_t end = std::min(begin + 20, text.size());
    for (size_t i = scored; i < end; ++i) {
      std::vector<int64_t> past(text.begin() + int64_t(begin),
                                text.begin() + int64_t(i));
      double total = 0;
      for (int64_t token = 0; token != 40; ++token)
        total += std::exp(double(source.getLogit(past, token)));
      sum += double(source.getLogit(past, text[i])) - std::log(total);
    }
    scored = end;
  }
  EXPECT_NEAR(score->sum, sum, 1e-9);
  // Windows without an overlap, and sizes that are refused.
  EXPECT_EQ(scoreWindows(source, text, 20, 20, {})->tokens, 103 - 6);
  EXPECT_FALSE(bool(scoreWindows(source, text, 20, 21, {})));
  EXPECT_FALSE(bool(scoreWindows(source, text, 21, 3, {})));
  EXPECT_EQ(scoreWindows(source, {1}, 20, 5, {})->tokens, 0);
}
