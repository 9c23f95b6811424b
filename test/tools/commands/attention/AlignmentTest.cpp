// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/attention/Alignment.h"
#include <gtest/gtest.h>

using namespace transom::tools;

using Words = std::vector<std::string>;
using OfTokens = std::vector<std::optional<size_t>>;
using Pairs = std::vector<WordPair>;

TEST(Alignment, WordsAreBetweenWhiteSpace) {
  const TokenWords found = findWords(" the  cats\tsat.\n", {});
  EXPECT_EQ(found.words, (Words{"the", "cats", "sat."}));
  EXPECT_TRUE(found.ofTokens.empty());
  EXPECT_TRUE(findWords("", {}).words.empty());
  EXPECT_TRUE(findWords(" \n ", {}).words.empty());
}

TEST(Alignment, WhiteSpaceOfSeveralBytes) {
  // No-break space, thin space, narrow no-break space, ideographic space.
  EXPECT_EQ(findWords("a\xc2\xa0"
                      "b\xe2\x80\x89"
                      "c\xe2\x80\xaf"
                      "d\xe3\x80\x80"
                      "e",
                      {})
                .words,
            (Words{"a", "b", "c", "d", "e"}));
  // A quotation mark with the same first bytes, and the first bytes of a
  // character.
  EXPECT_EQ(findWords("\xe2\x80\x9c"
                      "a\xe2\x80",
                      {})
                .words,
            (Words{"\xe2\x80\x9c"
                   "a\xe2\x80"}));
}

TEST(Alignment, TokensBelongToTheWordOfTheirFirstByte) {
  // "the", " c", "ats", " ", " s", "at.", a token without bytes, a token with
  // two words.
  const TokenWords found = findWords("the cats  sat.", {{0, 3},
                                                        {3, 5},
                                                        {5, 8},
                                                        {8, 9},
                                                        {9, 11},
                                                        {11, 14},
                                                        {},
                                                        {5, 14},
                                                        {13, 99}});
  EXPECT_EQ(found.ofTokens,
            (OfTokens{0, 1, 1, std::nullopt, 2, 2, std::nullopt, 1, 2}));
}

/// Cross attention with one matrix [queries, keys] for each head.
static AttentionGroup makeCross(size_t keys, size_t queries,
                                const std::vector<std::vector<float>> &heads) {
  AttentionGroup group;
  group.name = "cross";
  group.layers = {0};
  group.queries.resize(queries);
  group.keys.resize(keys);
  for (size_t head = 0; head < heads.size(); ++head) {
    group.heads.push_back(uint32_t(head));
    group.weights.insert(group.weights.end(), heads[head].begin(),
                         heads[head].end());
  }
  return group;
}

TEST(Alignment, PairsAreThoseOfTheLargestMeanWeight) {
  // Source: "ab c" as a b c </s>; target: "x y" as x y </s>.
  const TokenWords source = findWords("ab c", {{0, 1}, {1, 2}, {3, 4}, {}}),
                   target = findWords("x y", {{0, 1}, {2, 3}, {}});
  const std::vector<float> first = {0, 0.4f, 0.1f, 0.5f, 0, 0.1f,
                                    0, 0.9f, 1,    0,    0, 0};
  const std::vector<float> second = {0.1f, 0,    0.9f, 0, 0.5f, 0,
                                     0.2f, 0.3f, 1,    0, 0,    0};
  // The end token is not a word, so it counts on neither side.
  EXPECT_EQ(alignWords(makeCross(4, 3, {first}), source, target).pairs,
            (Pairs{{0, 0}, {0, 1}}));
  // Means: 0.05 0.2 0.5 for x; 0.25 0.05 0.1 for y.
  const Alignment both =
      alignWords(makeCross(4, 3, {first, second}), source, target);
  EXPECT_EQ(both.pairs, (Pairs{{0, 1}, {1, 0}}));
  EXPECT_EQ(both.source, (Words{"ab", "c"}));
  EXPECT_EQ(both.target, (Words{"x", "y"}));
}

TEST(Alignment, TokensOfOneWordGiveAPairOnceAndTheFirstOfEqualWeightsCounts) {
  const TokenWords source = findWords("a b", {{0, 1}, {2, 3}}),
                   target = findWords("xyz", {{0, 1}, {1, 2}, {2, 3}});
  const AttentionGroup cross =
      makeCross(2, 3, {{0.5f, 0.5f, 0.2f, 0.8f, 0.3f, 0.7f}});
  EXPECT_EQ(alignWords(cross, source, target).pairs, (Pairs{{0, 0}, {1, 0}}));
}

TEST(Alignment, WithoutWordsThereAreNoPairs) {
  const TokenWords none = findWords("", {{}}), word = findWords("a", {{0, 1}});
  const AttentionGroup cross = makeCross(1, 1, {{1}});
  EXPECT_TRUE(alignWords(cross, none, word).pairs.empty());
  EXPECT_TRUE(alignWords(cross, word, none).pairs.empty());
  EXPECT_EQ(alignWords(cross, word, word).pairs, (Pairs{{0, 0}}));
}
