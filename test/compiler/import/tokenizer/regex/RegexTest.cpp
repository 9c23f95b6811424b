// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns that split text: matches, and time linear in the text.
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include "runtime/tokenizer/Splitter.h"
#include "test/compiler/import/tokenizer/Matches.h"
#include "test/runtime/tokenizer/Fixture.h"
#include "test/support/TimeLimit.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace transom::tokenizer {
namespace {

TEST(TokenizerRegex, QuantifiersAreGreedyOrLazy) {
  EXPECT_EQ(cut("ab*", "abbbac"), "[abbb][a]c");
  EXPECT_EQ(cut("ab+", "abbbac"), "[abbb]ac");
  EXPECT_EQ(cut("ab?", "abbbac"), "[ab]bb[a]c");
  EXPECT_EQ(cut("ab*?", "abb"), "[a]bb");
  EXPECT_EQ(cut("ab+?b", "abbb"), "[abb]b");
  EXPECT_EQ(cut("a{2,3}", "aaaaa"), "[aaa][aa]");
  EXPECT_EQ(cut("a{2}", "aaaaa"), "[aa][aa]a");
  EXPECT_EQ(cut("xa{2,}", "xaaaaxa"), "[xaaaa]xa");
  EXPECT_EQ(cut("xa{,2}", "xaaaa"), "[xaa]aa");
  // Ruby's possessive braces are a repeated repetition.
  EXPECT_EQ(cut("a{1,2}+", "aaaaa"), "[aaaaa]");
  EXPECT_EQ(cut("(ab|c)+", "ababcx"), "[ababc]x");
}

TEST(TokenizerRegex, PossessiveOnesGiveNothingBack) {
  EXPECT_EQ(cut("a++a", "aaa"), "aaa");
  EXPECT_EQ(cut("a*+b", "aab"), "[aab]");
  EXPECT_EQ(cut("a?+ab", "abaab"), "ab[aab]");
  EXPECT_EQ(cut("\\s++$", "x  "), "x[  ]");
}

TEST(TokenizerRegex, TheFirstAlternativeThatMatchesWins) {
  EXPECT_EQ(cut("a|ab", "ab"), "[a]b");
  EXPECT_EQ(cut("ab|a", "aba"), "[ab][a]");
  EXPECT_EQ(cut("a*b|a", "aaab aaa"), "[aaab] [a][a][a]");
  EXPECT_EQ(cut("[A-Z]*[a-z日]+|[A-Z]+", "日AB日日CD"), "[日][AB日日][CD]");
}

TEST(TokenizerRegex, LooksAheadByOneCharacter) {
  EXPECT_EQ(cut("\\s+(?!\\S)|\\s+", "a   b  "), "a[  ][ ]b[  ]");
  EXPECT_EQ(cut("a(?=b)", "abac"), "[a]bac");
  EXPECT_EQ(cut("a(?!b)", "abaca"), "ab[a]c[a]");
  EXPECT_EQ(cut("a$", "a\na"), "[a]\n[a]");
  EXPECT_EQ(cut("a\\z", "a\na"), "a\n[a]");
}

TEST(TokenizerRegex, LooksAround) {
  EXPECT_EQ(cut("(?<=[a-z])(?=[A-Z])", "fooBarB"), "foo[]Bar[]B");
  EXPECT_EQ(cut("(?<=a|bc)x", "ax bcx cx"), "a[x] bc[x] cx");
  EXPECT_EQ(cut("(?<!ab+)x", "abbx bx"), "abbx b[x]");
  EXPECT_EQ(cut("\\d{1,3}(?=(?:\\d{3})*\\b)", "1234567 12"),
            "[1][234][567] [12]");
  EXPECT_EQ(cut("a(?!b+c)", "abbc abb"), "abbc [a]bb");
  EXPECT_EQ(cut("^\\w|\\w\\b", "ab\ncd\n"), "[a][b]\n[c][d]\n");
  EXPECT_EQ(cut("\\A\\w|\\w\\Z", "ab\ncd\n"), "[a]b\nc[d]\n");
}

TEST(TokenizerRegex, AtomicGroupsHaveOneMatch) {
  EXPECT_EQ(cut("(?>a|ab)c", "abc ac"), "abc [ac]");
  EXPECT_EQ(cut("(?>(?:a|)*)b", "aab"), "[aab]");
  EXPECT_EQ(cut("(?:ab|a)*+b", "abab aab"), "a[b]a[b] aa[b]");
  EXPECT_EQ(cut("(?>a(?>b|bc)|ab)d", "abcd abd"), "abcd [abd]");
}

TEST(TokenizerRegex, EmptyMatchesAreNotNextToOthers) {
  EXPECT_EQ(cut("a*", "baa"), "[]b[aa]");
  EXPECT_EQ(cut("", "ab"), "[]a[]b[]");
  EXPECT_EQ(cut("$", "a\n"), "a[]\n[]");
  EXPECT_EQ(cut("(|a)*", "aa"), "[]a[]a[]");
}

/// Matches as in the PyPI package tokenizers.
TEST(TokenizerRegex, GoldenPatterns) {
  auto document = parseJson(test::golden("patterns.json"), "patterns.json");
  ASSERT_TRUE(document) << document.error().message;
  ASSERT_GE(document->root().size(), 700u);
  for (JsonValue line : document->root().elements()) {
    const std::string pattern(*line[0].asString());
    for (JsonValue pair : line[1].elements())
      EXPECT_EQ(cut(pattern, *pair[0].asString()), *pair[1].asString())
          << utf8::printable(pattern);
  }
}

/// Whatever the pattern is: a program that can be run, or an error.
TEST(TokenizerRegex, RandomPatternsNeverCrash) {
  // Elements that patterns are composed from.
  const std::string_view elements[] = {
      "a",    "b",   "(",   ")",      "(?:",  "(?i:", "(?!", "(?=",    "|",
      "[",    "]",   "[^",  "-",      "*",    "+",    "?",   "{2}",    "{,3}",
      "{1,}", "\\s", "\\S", "\\p{L}", "$",    "\\z",  "&&",  "\u00e9", ".",
      "^",    "\\",  "{",   "(?<=",   "(?<!", "(?>",  "\\b", "\\A",    "++"};
  std::mt19937 random(3);
  Characters text = getCharacters("ab aab\n\u00e9 bA-b");
  size_t compiled = 0;
  // A pattern that compiles must split the complete text.
  for (int round = 0; round < 20000; ++round) {
    std::string pattern;
    for (size_t n = 1 + random() % 8; n > 0; --n)
      pattern += elements[random() % std::size(elements)];
    auto program = compileRegex(pattern);
    if (!program) {
      ASSERT_EQ(program.error().status, Status::Unsupported);
      continue;
    }
    ++compiled;
    size_t end = 0;
    for (const Cut &cut :
         Splitter::open(*program)->find(text, {0, text.size()})) {
      ASSERT_EQ(cut.span.begin, end) << pattern;
      end = cut.span.end;
    }
    ASSERT_EQ(end, text.size()) << pattern;
  }
  EXPECT_GT(compiled, 1000u);
}

/// Returns processor time in seconds, the minimum over a few tries.
double seconds(std::string_view pattern, const std::string &text) {
  auto program = compileRegex(pattern);
  Characters characters = getCharacters(text);
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start = test::processorSeconds();
    auto cuts =
        Splitter::open(*program)->find(characters, {0, characters.size()});
    EXPECT_FALSE(cuts.empty());
    least = std::min(least, test::processorSeconds() - start);
  }
  return least;
}

/// Each pattern takes quadratic time if scans restart after each match.
TEST(TokenizerRegex, AdversarialTextsTakeLinearTime) {
  const std::pair<const char *, const char *> cases[] = {
      {"a*b|a", "a"},
      {"a+b", "a"},
      {"(a|b)*c|a|b", "ab"},
      {"\\s+(?!\\S)|\\s+", " "},
      {"\\s*[\\r\\n]+|\\s+x", " "},
      {"[A-Z]*[a-z]+|[A-Z]+", "A"},
      {"(?<=a+)b|a(?=a*c)|(?!a*b)a", "a"},
      {"(?>a*)(?=a*c)|a(?<!ba*)", "a"},
      {"\\b(?:a|b)*+c|^a|(?<=\\ba{1,9})b", "ab"}};
  for (auto &[pattern, unit] : cases) {
    std::string text;
    while (text.size() < 50000)
      text += unit;
    double once = seconds(pattern, text);
    std::string twice = text + text;
    double eight = seconds(pattern, twice + twice + twice + twice);
    SCOPED_TRACE(pattern);
    test::expectSeconds(eight, 24 * std::max(once, 0.002));
  }
}

} // namespace
} // namespace transom::tokenizer
