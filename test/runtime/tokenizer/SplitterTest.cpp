// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How pattern matches are treated.
#include "runtime/tokenizer/Splitter.h"
#include "compiler/import/tokenizer/regex/Regex.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

TEST(Splitter, BehaviorsOfMatches) {
  auto words = [](Behavior behavior, bool invert) {
    auto program = compileRegex("-");
    std::string text = "a--b-";
    Characters characters = getCharacters(text);
    std::vector<Span> spans;
    applyBehavior(
        behavior, invert,
        Splitter::open(*program)->find(characters, {0, characters.size()}),
        spans);
    std::string result;
    for (Span span : spans)
      result += "|" + text.substr(span.begin, span.end - span.begin);
    return result;
  };
  EXPECT_EQ(words(Behavior::Removed, false), "|a|b");
  EXPECT_EQ(words(Behavior::Removed, true), "|-|-|-");
  EXPECT_EQ(words(Behavior::Isolated, false), "|a|-|-|b|-");
  EXPECT_EQ(words(Behavior::MergedWithPrevious, false), "|a-|-|b-");
  EXPECT_EQ(words(Behavior::MergedWithNext, false), "|a|-|-b|-");
  EXPECT_EQ(words(Behavior::Contiguous, false), "|a|--|b|-");
}

} // namespace
} // namespace transom::tokenizer
