// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Patterns that are not supported, or are wrong.
#include "compiler/import/tokenizer/regex/Regex.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

TEST(TokenizerRegexTree, WhatIsNotBuiltIsNamed) {
  // A pattern, and the construct that the error names.
  const std::pair<const char *, const char *> cases[] = {
      {"(a)\\1", "a backreference '\\1'"},
      {"(?<n>a)\\k<n>", "a backreference '\\k'"},
      {"(a)\\g<1>", "'\\g'"},
      {"a\\Kb", "'\\K'"},
      {"\\G.", "'\\G'"},
      {"\\X", "'\\X'"},
      {"(?~ab)", "an absent group '(?~'"},
      {"(?(1)a|b)", "a conditional group '(?('"},
      {"(?W:a)", "a group '(?W'; supported: (...), (?:...), (?imx-imx:...), "
                 "(?=...), (?!...), (?<=...), (?<!...), (?>...), (?<name>...)"},
      {"(?<=(?>a|bc))d", "an atomic group of several widths in a lookbehind"},
      {"(?<=a)*b", "a quantifier on a condition"},
      {"\\b+", "a quantifier on a condition"},
      {"\\p{Klingon}", "the property 'Klingon'"},
      {"[[:foo:]]", "a class '[:foo:]'"},
      {"[]", "an empty class"},
      {"(((()){1000}){1000}){1000}", "too many repetitions"},
      {"(a|b)*a(a|b){12}", "too large an automaton"},
      {"(?=[ab]{12}a)", "too large an automaton"},
      {"(a", "a '(' without ')'"},
      {"a)", "a ')' without '('"},
      {"[a", "a '[' without ']'"},
      {"[b-a]", "a malformed range in a class"},
      {"+a", "a quantifier without something before it"},
      {"a{9999}", "a quantifier over 1000"},
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
  // Nesting has a limit.
  std::string deep(200, '(');
  EXPECT_EQ(compileRegex(deep).error().message.substr(0, 34),
            "unsupported regular expression '((");
}

} // namespace
} // namespace transom::tokenizer
