// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Span selection; test_entities.py tests whole models' results.
#include "runtime/text/EntitySpans.h"
#include "gtest/gtest.h"
#include <string>

using namespace transom;

namespace {

/// `first-last:type` for each.
std::string showSpans(const std::vector<EntitySpan> &spans) {
  std::string text;
  for (const EntitySpan &span : spans)
    text += (text.empty() ? "" : " ") + std::to_string(span.first) + "-" +
            std::to_string(span.last) + ":" + std::to_string(span.type);
  return text;
}

std::string chooseFrom(const std::vector<EntitySpan> &spans, bool nested,
                       bool multiLabel) {
  return showSpans(chooseSpans(spans, {0.5, nested, multiLabel}));
}

constexpr float yes = 3, no = -3;

} // namespace

TEST(EntitySpans, do_not_overlap_unless_asked_for) {
  const std::vector<EntitySpan> spans = {{0, 2, 0, 0.6f}, {1, 1, 0, 0.9f},
                                         {1, 1, 1, 0.8f}, {2, 3, 0, 0.7f},
                                         {5, 5, 1, 0.6f}, {5, 5, 0, 0.6f}};
  EXPECT_EQ(chooseFrom(spans, false, false), "1-1:0 2-3:0 5-5:1");
  EXPECT_EQ(chooseFrom(spans, true, false), "1-1:0 2-3:0 5-5:1");
  EXPECT_EQ(chooseFrom(spans, false, true), "1-1:0 1-1:1 2-3:0 5-5:1 5-5:0");
  EXPECT_EQ(chooseFrom({{0, 2, 0, 0.6f}, {1, 1, 0, 0.9f}}, true, false),
            "0-2:0 1-1:0");
  EXPECT_EQ(chooseFrom({{0, 2, 0, 0.6f}, {1, 1, 0, 0.9f}}, false, false),
            "1-1:0");
  EXPECT_EQ(chooseFrom({}, false, false), "");
}

TEST(EntitySpans, are_joined_from_starts_insides_and_ends) {
  // Three words and two types; the second type has no inside in the middle.
  const std::vector<float> logits = {
      yes, no,  yes, yes, no,  yes, // word 0
      no,  yes, yes, yes, yes, no,  // word 1
      no,  yes, 1,   no,  yes, yes, // word 2
  };
  std::vector<EntitySpan> spans = joinWords(logits, 3, 2, 0.5);
  EXPECT_EQ(showSpans(spans), "0-1:0 0-2:0");
  EXPECT_FLOAT_EQ(spans[0].score, getProbability(yes));
  EXPECT_FLOAT_EQ(spans[1].score, getProbability(1));
  EXPECT_EQ(showSpans(joinWords(logits, 3, 2, 0.8)), "0-1:0");
  EXPECT_EQ(showSpans(joinWords(logits, 3, 2, 0.99)), "");
}

TEST(EntitySpans, need_more_than_the_threshold_but_inside_no_less) {
  const std::vector<float> halves = {yes, yes, 0};
  EXPECT_EQ(showSpans(joinWords(halves, 1, 1, 0.5)), "0-0:0");
  const std::vector<float> start = {0, yes, yes}, end = {yes, 0, yes};
  EXPECT_EQ(showSpans(joinWords(start, 1, 1, 0.5)), "");
  EXPECT_EQ(showSpans(joinWords(end, 1, 1, 0.5)), "");
}
