// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// UTF-8 against every code point, and printable text.
#include "runtime/base/Utf8.h"
#include <gtest/gtest.h>

using namespace transom;

TEST(Utf8, every_code_point_round_trips) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c < 0xE000)
      continue;
    std::string text;
    utf8::append(text, c);
    size_t position = 0;
    bool valid;
    ASSERT_EQ(utf8::decode(text, position, valid), c);
    ASSERT_TRUE(valid);
    ASSERT_EQ(position, text.size());
    ASSERT_TRUE(utf8::isValid(text));
  }
}

TEST(Utf8, invalid_sequences_are_found_at_their_first_byte) {
  const std::string bad[] = {"\x80",
                             "\xC0\xAF",
                             "\xC1\x81",
                             "\xE0\x80\x80",
                             "\xE0\x9F\xBF",
                             "\xED\xA0\x80",
                             "\xED\xBF\xBF",
                             "\xF0\x80\x80\x80",
                             "\xF0\x8F\xBF\xBF",
                             "\xF4\x90\x80\x80",
                             "\xF5\x80\x80\x80",
                             "\xFF",
                             "\xC3",
                             "\xE2\x82",
                             "\xF0\x9F\x98",
                             "\xC3(",
                             "\xE2\x28\xA1"};
  for (const std::string &text : bad) {
    EXPECT_EQ(utf8::firstInvalid(text), 0u);
    EXPECT_EQ(utf8::firstInvalid("eight by" + text), 8u);
    EXPECT_EQ(utf8::firstInvalid("\xC3\xA9" + text), 2u);
    size_t position = 0;
    bool valid;
    EXPECT_EQ(utf8::decode(text, position, valid), utf8::replacement);
    EXPECT_FALSE(valid);
    EXPECT_EQ(position, 1u);
  }
}

TEST(Utf8, surrogates_encode_as_replacement) {
  std::string text;
  utf8::append(text, 0xD800);
  utf8::append(text, 0x110000);
  EXPECT_EQ(text, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, printable_text_is_one_short_line) {
  EXPECT_EQ(utf8::printable("a\nb\tc\rd\x01\x7F"), "a\\nb\\tc\\rd\\x01\\x7f");
  EXPECT_EQ(utf8::printable("\xFFz"), "\\xffz");
  EXPECT_EQ(utf8::printable("\xC3\xA9\xE2\x80\xA8"), "\xC3\xA9\\u2028");
  EXPECT_EQ(utf8::printable(std::string(1000, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(utf8::printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Utf8, length_counts_code_points) {
  EXPECT_EQ(utf8::length("a\xC3\xA9\xF0\x9F\x98\x80\xFF"), 4u);
}
