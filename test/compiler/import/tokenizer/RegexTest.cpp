// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns that cut text: what matches, what is not supported, and time that
// grows with the text and no faster.
#include "compiler/import/tokenizer/Regex.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Splitter.h"
#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <random>

namespace transom::tokenizer {
namespace {

/// The elements of `text`, matches in brackets.
std::string cut(std::string_view pattern, std::string_view text) {
  auto program = compileRegex(pattern);
  if (!program)
    return program.error().message;
  Characters characters = getCharacters(text);
  std::string result;
  for (const Cut &cut :
       Splitter::open(*program)->find(characters, {0, characters.size()})) {
    std::string text =
        toUtf8({characters.begin() + static_cast<ptrdiff_t>(cut.span.begin),
                characters.begin() + static_cast<ptrdiff_t>(cut.span.end)});
    result += cut.match ? "[" + text + "]" : text;
  }
  return result;
}

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
  // Ruby's possessive braces are a repetition of a repetition.
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

TEST(TokenizerRegex, Classes) {
  EXPECT_EQ(cut("[^\\r\\n\\p{L}]", "a1\n\u00e9-"), "a[1]\n\u00e9[-]");
  EXPECT_EQ(cut("\\p{Lu}\\P{Lu}", "aBcÉé"), "a[Bc][Éé]");
  EXPECT_EQ(cut("\\p{^L}+", "ab12"), "ab[12]");
  EXPECT_EQ(cut("[a\\-c]+", "a-cb"), "[a-c]b");
  EXPECT_EQ(cut("[a-]+", "-a-b"), "[-a-]b");
  EXPECT_EQ(cut("\\x41\\u00e9", "A\u00e9"), "[A\u00e9]");
  EXPECT_EQ(cut("\\p{Han}+", "a中文か"), "a[中文]か");
  EXPECT_EQ(cut("\\d+\\w", "12a ٣_"), "[12a] [٣_]");
  EXPECT_EQ(cut(".", "a\nb"), "[a]\n[b]");
  EXPECT_EQ(cut("[^(\\s|[.,!])]+", "a|b (c.d[e])"), "[a]|[b] ([c].[d[e]])");
  EXPECT_EQ(cut("[a[^b-z]]+", "abAz1"), "[a]b[A]z[1]");
  EXPECT_EQ(cut("\\.", "a.b"), "a[.]b");
}

TEST(TokenizerRegex, IgnoresCaseWhereAsked) {
  EXPECT_EQ(cut("(?i:'s|'ll)s", "'Ss'lls'sS"), "['Ss]['lls]'sS");
  EXPECT_EQ(cut("(?i:'s)", "'\u017f"), "['\u017f]");
  EXPECT_EQ(cut("(?i:k[a-c])", "\u212aBKc"), "[\u212aB][Kc]");
  EXPECT_EQ(cut("(?i:a(?-i:b))", "AbAB"), "[Ab]AB");
}

TEST(TokenizerRegex, WhatIsNotBuiltIsNamed) {
  const std::pair<const char *, const char *> cases[] = {
      {"a(?<=b)", "a group '(?<='; supported: (...), (?:...), (?i:...), "
                  "(?=x), (?!x)"},
      {"a(?!bc)", "a look ahead at more than one character"},
      {"(a)\\1", "'\\1'"},
      {"a\\b", "'\\b'"},
      {"a*", "a match of the empty text"},
      {"^a", "'^'"},
      {"(ab)++", "a possessive quantifier on more than one character"},
      {"\\p{Greek}", "the property 'Greek'"},
      {"[a&&b]", "'&&' in a class"},
      {"[[:alpha:]]", "a class '[:...:]'"},
      {"(((()){1000}){1000}){1000}", "too many repetitions"},
      {"(a|b)*a(a|b){12}", "too large an automaton"},
      {"(?i:ss)", "'ss' where case is ignored"},
      {"(?i:\u00e9)", "letters beyond ASCII where case is ignored"},
      {"(a", "a '(' without ')'"},
      {"a)", "a ')' without '('"},
      {"[a", "a '[' without ']'"},
      {"[b-a]", "a malformed range in a class"},
      {"+a", "a quantifier without something before it"},
      {"a{9999}", "a quantifier over 1000 or downwards"},
      {"(((a{1000}){1000}){1000}){1000}", "too many repetitions"},
      {"a\\", "a '\\' at the end"},
  };
  for (auto &[pattern, what] : cases) {
    auto program = compileRegex(pattern);
    ASSERT_FALSE(program) << pattern;
    EXPECT_EQ(program.error().status, Status::Unsupported);
    EXPECT_EQ(program.error().message, "unsupported regular expression '" +
                                           std::string(pattern) + "': " + what);
  }
  std::string deep(200, '(');
  EXPECT_EQ(compileRegex(deep).error().message.substr(0, 34),
            "unsupported regular expression '((");
}

/// Whatever the pattern is: a program that can be run, or an error.
TEST(TokenizerRegex, RandomPatternsNeverCrash) {
  const std::string_view elements[] = {
      "a",   "b",      "(",    ")",   "(?:", "(?i:",   "(?!", "(?=",
      "|",   "[",      "]",    "[^",  "-",   "*",      "+",   "?",
      "{2}", "{,3}",   "{1,}", "\\s", "\\S", "\\p{L}", "$",   "\\z",
      "&&",  "\u00e9", ".",    "^",   "\\",  "{"};
  std::mt19937 random(3);
  Characters text = getCharacters("ab aab\n\u00e9 bA-b");
  size_t compiled = 0;
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

/// Seconds of processor time, the least of a few tries.
double seconds(std::string_view pattern, const std::string &text) {
  auto program = compileRegex(pattern);
  Characters characters = getCharacters(text);
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    std::clock_t start = std::clock();
    auto cuts =
        Splitter::open(*program)->find(characters, {0, characters.size()});
    EXPECT_FALSE(cuts.empty());
    least = std::min(least, double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

/// Each of these takes quadratic time where scans start anew after each match.
TEST(TokenizerRegex, AdversarialTextsTakeLinearTime) {
  const std::pair<const char *, const char *> cases[] = {
      {"a*b|a", "a"},
      {"a+b", "a"},
      {"(a|b)*c|a|b", "ab"},
      {"\\s+(?!\\S)|\\s+", " "},
      {"\\s*[\\r\\n]+|\\s+x", " "},
      {"[A-Z]*[a-z]+|[A-Z]+", "A"}};
  for (auto &[pattern, unit] : cases) {
    std::string text;
    while (text.size() < 50000)
      text += unit;
    double once = seconds(pattern, text);
    std::string twice = text + text;
    double eight = seconds(pattern, twice + twice + twice + twice);
    EXPECT_LT(eight, 24 * std::max(once, 0.002)) << pattern;
  }
}

} // namespace
} // namespace transom::tokenizer
