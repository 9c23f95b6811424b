// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Unigram model: the best split, unknown characters, long words. The values
// are from the PyPI package tokenizers.
#include "test/runtime/tokenizer/Fixture.h"
#include "test/support/TimeLimit.h"
#include <algorithm>

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

Ids getIds(const Loaded &loaded, std::string_view text) {
  auto encoding = loaded->encode(text);
  return encoding ? encoding->ids : Ids{-1};
}

std::string getOffsets(const Loaded &loaded, std::string_view text) {
  auto encoding = loaded->encode(text);
  std::string offsets;
  for (TokenOffsets o : encoding->offsets)
    offsets += std::to_string(o.begin) + "-" + std::to_string(o.end) + " ";
  return offsets;
}

TEST(TokenizerUnigram, TheLargestSumWins) {
  Loaded loaded = load(smallUnigramJson());
  EXPECT_EQ(getIds(loaded, "abcd"), Ids{8});
  EXPECT_EQ(getIds(loaded, "abcdacd"), (Ids{8, 1, 5}));
  EXPECT_EQ(getIds(loaded, "bcab"), (Ids{2, 3, 6}));
  EXPECT_EQ(getIds(loaded, ""), Ids{});
  // Among equal sums, the first one found stays: "abcd" here.
  Loaded equal = load(
      replaceOnce(smallUnigramJson(), R"(["abcd", 10.0])", R"(["abcd", 5.0])"));
  EXPECT_EQ(getIds(equal, "abcd"), Ids{8});
}

TEST(TokenizerUnigram, UnknownCharactersAreOneToken) {
  Loaded loaded = load(smallUnigramJson());
  EXPECT_EQ(getIds(loaded, "axyab"), (Ids{1, 0, 6}));
  EXPECT_EQ(getOffsets(loaded, "axyab"), "0-1 1-3 3-5 ");
  // The unknown token's own text is unknown.
  EXPECT_EQ(getIds(loaded, "x<unk>y"), Ids{0});
  EXPECT_EQ(getIds(loaded, "<unk>"), Ids{0});
}

TEST(TokenizerUnigram, BytesOfUnknownCharacters) {
  Loaded loaded =
      load(replaceOnce(smallUnigramJson(), R"("byte_fallback": false)",
                       R"("byte_fallback": true)"));
  EXPECT_EQ(getIds(loaded, "a\u00e9\u00e9"), (Ids{1, 9, 10, 9, 10}));
  EXPECT_EQ(getOffsets(loaded, "a\u00e9\u00e9"), "0-1 1-5 1-5 1-5 1-5 ");
  // One byte without a token makes all of them unknown.
  EXPECT_EQ(getIds(loaded, "\u00e9x"), Ids{0});
}

TEST(TokenizerUnigram, TokensThatComeTwice) {
  std::string twice =
      replaceOnce(smallUnigramJson(), R"(["<0xC3>", 0])", R"(["ab", -1])");
  Loaded loaded = load(twice);
  EXPECT_EQ(getIds(loaded, "ab"), (Ids{1, 2}));
  EXPECT_EQ(loaded->token(6), "ab");
  EXPECT_EQ(loaded->token(9), "ab");
  EXPECT_EQ(loaded->getId("ab"), 9);
}

TEST(TokenizerUnigram, LongWordsTakeLinearTime) {
  Loaded loaded = load(smallUnigramJson());
  auto getSeconds = [&](const std::string &text) {
    double least = 1e9;
    for (int i = 0; i < 3; ++i) {
      const double start = processorSeconds();
      EXPECT_TRUE(loaded->encode(text));
      least = std::min(least, processorSeconds() - start);
    }
    return least;
  };
  for (char letter : {'a', 'x'}) {
    double once = getSeconds(std::string(125000, letter));
    expectSeconds(getSeconds(std::string(1000000, letter)),
                  24 * std::max(once, 0.005));
  }
}

} // namespace
} // namespace transom::test
