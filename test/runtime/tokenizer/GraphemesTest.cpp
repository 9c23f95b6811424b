// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grapheme cluster boundaries: one text per rule in the standard's annex.
#include "runtime/tokenizer/Graphemes.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

/// The cluster lengths in a text.
std::vector<size_t> getLengths(std::string_view text) {
  Characters characters = getCharacters(text);
  std::vector<size_t> lengths;
  for (size_t at = 0; at < characters.size(); at += lengths.back())
    lengths.push_back(getGraphemeEnd(characters, at) - at);
  return lengths;
}

using Lengths = std::vector<size_t>;

TEST(Graphemes, Controls) {
  EXPECT_EQ(getLengths("a\r\n\n\rb"), (Lengths{1, 2, 1, 1, 1}));
  EXPECT_EQ(getLengths("\n\u0301\u0301"), (Lengths{1, 2}));
  EXPECT_EQ(getLengths("a\u200b\u0301"), (Lengths{1, 1, 1}));
}

TEST(Graphemes, Marks) {
  EXPECT_EQ(getLengths("a\u0301\u0300b"), (Lengths{3, 1}));
  EXPECT_EQ(getLengths("\u0915\u093e\u0915"), (Lengths{2, 1}));
  EXPECT_EQ(getLengths("\u0600a"), Lengths{2});
  EXPECT_EQ(getLengths("\u0600\n"), (Lengths{1, 1}));
}

TEST(Graphemes, Hangul) {
  EXPECT_EQ(getLengths("\u1100\u1161\u11a8\u1100"), (Lengths{3, 1}));
  EXPECT_EQ(getLengths("\uac00\u11a8\uac01\u11a8\uac01\u1161"),
            (Lengths{2, 2, 1, 1}));
}

TEST(Graphemes, Joiners) {
  EXPECT_EQ(getLengths("\u2600\u200d\u2600\u2600"), (Lengths{3, 1}));
  EXPECT_EQ(getLengths("\u2600\u0308\u200d\u2600"), Lengths{4});
  EXPECT_EQ(getLengths("a\u200d\u2600"), (Lengths{2, 1}));
}

} // namespace
} // namespace transom::tokenizer
