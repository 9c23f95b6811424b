// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps that split text into words.
#include "runtime/tokenizer/PreTokenizer.h"
#include "test/runtime/tokenizer/Steps.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

std::vector<std::string> words(std::initializer_list<PreTokenizerStep> list,
                               std::string_view text) {
  Characters characters = getCharacters(text);
  std::vector<std::string> result;
  for (Span span : preTokenize(Steps<PreTokenizerStep>(list), characters))
    result.push_back(toUtf8(
        {characters.begin() + span.begin, characters.begin() + span.end}));
  return result;
}

TEST(PreTokenizer, BytesBecomeCharacters) {
  EXPECT_EQ(
      words({PreTokenizerStep::SplitWhitespace, PreTokenizerStep::ToBytes},
            "a \u00e9\n\u00ad"),
      (std::vector<std::string>{"a", "\u00c3\u00a9", "\u00c2\u0143"}));
}

TEST(PreTokenizer, CutsWords) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words({PreTokenizerStep::SplitWhitespace,
                   PreTokenizerStep::IsolatePunctuation},
                  "  don't  stop!? "),
            (Words{"don", "'", "t", "stop", "!", "?"}));
  EXPECT_EQ(words({PreTokenizerStep::SplitWhitespace}, "a-b c"),
            (Words{"a-b", "c"}));
  EXPECT_EQ(words({PreTokenizerStep::WordsAndSymbols}, "don't stop!? +_"),
            (Words{"don", "'", "t", "stop", "!?", "+", "_"}));
  EXPECT_EQ(words({}, "as it is"), (Words{"as it is"}));
  EXPECT_EQ(words({}, ""), Words{});
}

} // namespace
} // namespace transom::tokenizer
