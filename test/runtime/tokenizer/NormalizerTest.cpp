// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizer steps, on characters for which Unicode versions or rules differ.
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/Unicode.h"
#include "test/runtime/tokenizer/Steps.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

std::string apply(std::initializer_list<NormalizerStep> list,
                  std::string_view text) {
  Characters characters = getCharacters(text);
  normalize(Steps<NormalizerStep>(list), characters);
  return toUtf8(characters);
}

TEST(Normalizer, DecomposesAndOrders) {
  auto decompose = [](std::string_view text) {
    return apply({NormalizerStep::Decompose}, text);
  };
  EXPECT_EQ(decompose("\u1eb9\u0301"), "e\u0323\u0301");
  EXPECT_EQ(decompose("q\u0307\u0323"), "q\u0323\u0307");
  EXPECT_EQ(decompose("\u0307\u0323q"), "\u0323\u0307q");
  EXPECT_EQ(decompose("\uac01\uac00"), "\u1100\u1161\u11a8\u1100\u1161");
  EXPECT_EQ(decompose("\u212b"), "A\u030a");
  EXPECT_EQ(decompose("plain"), "plain");
}

TEST(Normalizer, OrderingIsLinear) {
  std::string marks = "a";
  for (int i = 0; i < 300000; ++i)
    marks += i % 2 ? "\u0323" : "\u0301";
  std::string ordered = apply({NormalizerStep::Decompose}, marks);
  EXPECT_EQ(ordered.size(), marks.size());
  EXPECT_EQ(ordered.substr(1, 2), "\u0323");
  EXPECT_EQ(ordered.substr(ordered.size() - 2), "\u0301");
}

TEST(Normalizer, CompatibilityForms) {
  auto decompose = [](std::string_view text) {
    return apply({NormalizerStep::DecomposeCompatibly}, text);
  };
  auto compose = [](std::string_view text) {
    return apply({NormalizerStep::ComposeCompatibly}, text);
  };
  EXPECT_EQ(decompose("\ufb01 \u00bd \u2460"), "fi 1\u20442 1");
  EXPECT_EQ(decompose("\uff76\uff9e \u00e9"), "\u30ab\u3099 e\u0301");
  EXPECT_EQ(compose("\uff76\uff9e \u00e9"), "\u30ac \u00e9");
  EXPECT_EQ(decompose("\u1e9b\u0323"), "s\u0323\u0307");
  EXPECT_EQ(compose("\u1e9b\u0323"), "\u1e69");
  EXPECT_EQ(getCharacters(compose("\ufdfa")).size(), 18u);
  EXPECT_EQ(compose("a\u0430\u05d0"), "a\u0430\u05d0");
}

/// Properties that let composition skip short texts.
TEST(Normalizer, NoEarlyCharacterJoinsTheOneBeforeIt) {
  for (size_t i = 0; i < unicode::compositionCount; ++i) {
    const char32_t second = unicode::compositions[i].second;
    EXPECT_TRUE(second >= 0x900 ||
                unicode::getRecord(second).combiningClass != 0);
    EXPECT_GE(second, 0x300u);
  }
}

TEST(Normalizer, CleansControlsAsNmtDoes) {
  EXPECT_EQ(
      apply({NormalizerStep::CleanControls},
            std::string_view("a\x01\x0b\x7f b\t\u200b\u2581\ufeff\0", 17)),
      std::string("a b    \0", 8));
}

TEST(Normalizer, Composes) {
  auto compose = [](std::string_view text) {
    return apply({NormalizerStep::Compose}, text);
  };
  EXPECT_EQ(compose("e\u0301 \u212b"), "\u00e9 \u00c5");
  EXPECT_EQ(compose("\u1100\u1161\u11a8\u1100\u1161"), "\uac01\uac00");
  // The dot below comes first and is composed; the acute is then not blocked.
  EXPECT_EQ(compose("o\u0302\u0323"), "\u1ed9");
  EXPECT_EQ(compose("q\u0307\u0323"), "q\u0323\u0307");
  // A composition that is excluded stays apart.
  EXPECT_EQ(compose("\u0958"), "\u0915\u093c");
  EXPECT_EQ(compose("\u0301e\u0301"), "\u0301\u00e9");
}

TEST(Normalizer, CompositionKeepsPlaces) {
  Characters text = getCharacters("e\u0301x");
  normalize(Steps<NormalizerStep>({NormalizerStep::Compose}), text);
  ASSERT_EQ(text.size(), 2u);
  EXPECT_EQ(text[0].code, 0xE9u);
  EXPECT_EQ(text[0].end, 1u);
  EXPECT_EQ(text[1].begin, 3u);
}

TEST(Normalizer, StripsWhitespace) {
  EXPECT_EQ(apply({NormalizerStep::StripLeft}, " \u3000a b "), "a b ");
  EXPECT_EQ(apply({NormalizerStep::StripRight}, " a b\n "), " a b");
  EXPECT_EQ(apply({NormalizerStep::StripRight}, "  "), "");
}

TEST(Normalizer, LowercasesCharacterByCharacter) {
  auto lower = [](std::string_view text) {
    return apply({NormalizerStep::Lowercase}, text);
  };
  EXPECT_EQ(lower("\u0130"), "i\u0307");
  EXPECT_EQ(lower("\u03a3\u0391\u03a3"), "\u03c3\u03b1\u03c3");
  EXPECT_EQ(lower("\u1e9e\u01c5\U00010400"), "\u00df\u01c6\U00010428");
}

TEST(Normalizer, CleansText) {
  auto clean = [](std::string_view text) {
    return apply({NormalizerStep::CleanText}, text);
  };
  EXPECT_EQ(clean(std::string_view("a\0b\x01\x7f\u00ad\ufffd\u200d", 14)),
            "ab");
  EXPECT_EQ(clean("a\tb\nc\rd\u00a0e\u3000"), "a b c d e ");
}

TEST(Normalizer, KeepsThePlacesOfCharacters) {
  // E with acute in one character, then e with two marks.
  Characters text = getCharacters("\u00c9e\u0301\u0323");
  normalize(Steps<NormalizerStep>({NormalizerStep::Decompose,
                                   NormalizerStep::RemoveNonspacing,
                                   NormalizerStep::Lowercase}),
            text);
  ASSERT_EQ(text.size(), 2u);
  EXPECT_EQ(text[0].code, U'e');
  EXPECT_EQ(text[0].begin, 0u);
  EXPECT_EQ(text[0].end, 2u);
  EXPECT_EQ(text[1].begin, 2u);
  EXPECT_EQ(text[1].end, 3u);
}

} // namespace
} // namespace transom::tokenizer
