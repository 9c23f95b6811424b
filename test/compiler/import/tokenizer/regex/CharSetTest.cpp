// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character sets in patterns: classes, properties, case.
#include "test/compiler/import/tokenizer/Matches.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

TEST(TokenizerCharSet, Classes) {
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
  EXPECT_EQ(cut("[a-z&&[^b]]+", "abc"), "[a]b[c]");
  EXPECT_EQ(cut("[[:upper:]_]+", "aBC_d"), "a[BC_]d");
  EXPECT_EQ(cut("\\p{greek}|\\p{ Uppercase-Letter }", "\u03b1aB"),
            "[\u03b1]a[B]");
}

TEST(TokenizerCharSet, IgnoresCaseWhereAsked) {
  EXPECT_EQ(cut("(?i:'s|'ll)s", "'Ss'lls'sS"), "['Ss]['lls]'sS");
  EXPECT_EQ(cut("(?i:'s)", "'\u017f"), "['\u017f]");
  EXPECT_EQ(cut("(?i:k[a-c])", "\u212aBKc"), "[\u212aB][Kc]");
  EXPECT_EQ(cut("(?i:a(?-i:b))", "AbAB"), "[Ab]AB");
  EXPECT_EQ(cut("(?i:stra\u00dfe)", "STRASSE strase"), "[STRASSE] strase");
  EXPECT_EQ(cut("(?i:ss)x", "\u00dfx sx"), "[\u00dfx] sx");
  EXPECT_EQ(cut("(?i:[^\u00e9])", "\u00c9a"), "\u00c9[a]");
}

} // namespace
} // namespace transom::tokenizer
