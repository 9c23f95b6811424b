// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Spans in windows, windows over texts.
#include "runtime/text/Answers.h"
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

/// [CLS] question [SEP] context [SEP], with one-byte tokens.
static Encoding makePair(size_t question, size_t context) {
  Encoding pair;
  auto append = [&](size_t at, uint8_t sequence) {
    pair.ids.push_back(int64_t(100 * sequence + at));
    pair.typeIds.push_back(sequence == 1);
    pair.offsets.push_back({at, at + 1});
    pair.specialMask.push_back(sequence == 2);
    pair.sequence.push_back(sequence);
    pair.words.push_back(uint32_t(at));
  };
  append(0, 2);
  for (size_t i = 0; i != question; ++i)
    append(i, 0);
  append(1, 2);
  for (size_t i = 0; i != context; ++i)
    append(i, 1);
  append(2, 2);
  return pair;
}

TEST(Answers, best_spans_of_a_window) {
  const Encoding window = makePair(1, 3); // the context is 3, 4, 5
  const float start[] = {0, 50, 50, 1, 3, 2, 50},
              end[] = {1, 50, 50, 4, 1, 3, 50};
  double impossible = -1;
  const std::vector<AnswerSpan> spans =
      findSpans(window, start, end, 3, 2, impossible);
  const double starts = 1 + std::exp(1) + std::exp(2) + std::exp(3),
               ends = 2 * std::exp(1) + std::exp(3) + std::exp(4);
  EXPECT_NEAR(impossible, std::exp(1) / starts / ends, 1e-9);
  ASSERT_EQ(spans.size(), 3u);
  // 4-5: 3 + 3; 3-3: 1 + 4 and 5-5: 2 + 3 are equal; 3-5 is too long.
  const std::vector<std::pair<size_t, size_t>> expected = {
      {4, 5}, {3, 3}, {5, 5}};
  const double sums[] = {6, 5, 5};
  for (size_t i = 0; i != 3; ++i) {
    EXPECT_EQ(spans[i].first, expected[i].first);
    EXPECT_EQ(spans[i].last, expected[i].second);
    EXPECT_NEAR(spans[i].score, std::exp(sums[i]) / starts / ends, 1e-9);
  }
  // All possible spans: three with one token, two with two.
  EXPECT_EQ(findSpans(window, start, end, 100, 2, impossible).size(), 5u);
}

TEST(Answers, windows_share_tokens) {
  const Encoding pair = makePair(2, 10); // 5 others
  auto whole = makeWindows(pair, 15, 3);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->size(), 1u);
  auto windows = makeWindows(pair, 11, 2);
  ASSERT_TRUE(windows) << windows.error().message;
  ASSERT_EQ(windows->size(), 2u);
  EXPECT_EQ((*windows)[0].ids, (std::vector<int64_t>{200, 0, 1, 201, 100, 101,
                                                     102, 103, 104, 105, 202}));
  EXPECT_EQ((*windows)[1].ids, (std::vector<int64_t>{200, 0, 1, 201, 104, 105,
                                                     106, 107, 108, 109, 202}));
  windows = makeWindows(pair, 8, 2);
  ASSERT_TRUE(windows) << windows.error().message;
  EXPECT_EQ(windows->size(), 8u);
  windows = makeWindows(pair, 8, 3);
  ASSERT_FALSE(windows);
  EXPECT_EQ(windows.error().status, Status::Limit);
}

TEST(Answers, models_that_answer_nothing) {
  auto model = fakeModel(textManifest(), tables());
  auto answers = answerQuestion(*makeTextSession(*model), text("a"), text("b"),
                                transom_answer_options_default());
  ASSERT_FALSE(answers);
  EXPECT_EQ(answers.error().status, Status::Unsupported);
}
