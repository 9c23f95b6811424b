// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns that are not supported, or are wrong.
#include "compiler/import/tokenizer/Regex.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

TEST(TokenizerRegexTree, WhatIsNotBuiltIsNamed) {
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

} // namespace
} // namespace transom::tokenizer
