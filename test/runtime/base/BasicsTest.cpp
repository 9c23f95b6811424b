// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checked sizes, UTF-8, suggestions and sha256.
#include "runtime/base/Checked.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

TEST(CheckedSize, computes) {
  EXPECT_EQ((CheckedSize(3) * 4 + 5 - 1).value(), 16u);
  EXPECT_EQ(CheckedSize(65).alignUp(64).value(), 128u);
  EXPECT_EQ(CheckedSize(64).alignUp(64).value(), 64u);
  EXPECT_EQ(CheckedSize(0).alignUp(4096).value(), 0u);
}

TEST(CheckedSize, overflow_sticks) {
  CheckedSize big(UINT64_MAX);
  EXPECT_EQ(big.value(), UINT64_MAX);
  EXPECT_FALSE((big + 1).value());
  EXPECT_FALSE((big * 2).value());
  EXPECT_FALSE(((big + 1) * 0).value()) << "an overflow must not be undone";
  EXPECT_FALSE((CheckedSize(1) - 2).value());
  EXPECT_FALSE(big.alignUp(4096).value());
  EXPECT_FALSE(CheckedSize::fromSigned(-1).value());
  EXPECT_FALSE((CheckedSize(2) * CheckedSize::fromSigned(-1)).value());
}

TEST(CheckedSize, signed_value_excludes_the_upper_half) {
  EXPECT_EQ(CheckedSize(INT64_MAX).signedValue(), INT64_MAX);
  EXPECT_FALSE(CheckedSize(uint64_t(INT64_MAX) + 1).signedValue());
}

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

TEST(Suggest, near_names_only) {
  EXPECT_EQ(suggest("hiden_size", {"hidden_size", "vocab_size"}),
            "; did you mean 'hidden_size'?");
  EXPECT_EQ(suggest("swihs", {"relu", "swish"}), "; did you mean 'swish'?");
  EXPECT_EQ(suggest("tanh", {"relu", "swish"}), "");
  EXPECT_EQ(suggest("x", {"y"}), "") << "nothing in common";
  EXPECT_EQ(suggest("", {"a"}), "");
  EXPECT_EQ(suggest(std::string(100000, 'a'), {std::string(99999, 'a')}), "");
  EXPECT_EQ(joinNames({"a", "b"}), "a, b");
}

// FIPS 180-4 examples, and the length at which each padding case changes.
TEST(Sha256, known_hashes) {
  EXPECT_EQ(Sha256::hexOf(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256::hexOf("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(
      Sha256::hexOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256::hexOf(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, engines_and_pieces_agree) {
  Random random(1);
  std::string text;
  for (int i = 0; i < 700; ++i)
    text += static_cast<char>(random.next());
  for (size_t size = 0; size <= text.size(); ++size) {
    Sha256 whole(Sha256::Engine::Portable), pieces;
    whole.update(text.data(), size);
    for (size_t at = 0; at < size;) {
      size_t piece = std::min<size_t>(size - at, random.next() % 130);
      pieces.update(text.data() + at, piece);
      at += piece;
    }
    ASSERT_EQ(whole.hex(), pieces.hex()) << size;
  }
}

TEST(Sha256, digest_does_not_end_the_hash) {
  Sha256 hash;
  hash.update("ab");
  (void)hash.hex();
  hash.update("c");
  EXPECT_EQ(hash.hex(), Sha256::hexOf("abc"));
}
