// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding and decoding: options, errors, extreme lengths.
#include "test/runtime/tokenizer/Fixture.h"
#include "test/support/TimeLimit.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

TEST(Tokenizer, EmptyText) {
  Loaded loaded = load(smallJson());
  EXPECT_EQ(loaded->encode("")->ids, Ids{1});
  EXPECT_EQ(loaded->encode("", {false, 0})->ids, Ids{});
}

TEST(Tokenizer, InvalidUtf8NamesTheByte) {
  Loaded loaded = load(smallJson());
  for (const char *text : {"ab\xff", "ab\xed\xa0\x80", "ab\xc3"}) {
    auto encoding = loaded->encode(text);
    ASSERT_FALSE(encoding);
    EXPECT_EQ(encoding.error().status, Status::Rejected);
    EXPECT_EQ(encoding.error().message, "text is not UTF-8 at byte 2");
  }
  EXPECT_FALSE(loaded->encode("a", std::string_view("\xff"), {}));
}

TEST(Tokenizer, MaximumLength) {
  Loaded loaded = load(smallJson());
  auto encoding = loaded->encode("a a a a a", {true, 3});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (Ids{1, 5, 5}));
  EXPECT_EQ(encoding->truncatedTokens, 3u);
  EXPECT_EQ(loaded->encode("a a", {true, 1})->ids, Ids{1});
}

TEST(Tokenizer, WordsAreEncodedOneByOne) {
  Loaded loaded = load(smallJson());
  auto encoding = loaded->encodeWords({"a", "", "a a"});
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->ids, (Ids{1, 5, 5, 5}));
  EXPECT_EQ(encoding->words, (std::vector<uint32_t>{UINT32_MAX, 0, 2, 2}));
  encoding = loaded->encodeWords({"a", "a", "a"}, {true, 3});
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->words, (std::vector<uint32_t>{UINT32_MAX, 0, 1}));
  EXPECT_EQ(encoding->truncatedTokens, 1u);
  EXPECT_EQ(loaded->encodeWords({})->ids, Ids{1});
  EXPECT_FALSE(loaded->encodeWords({"a", "\xff"}));
}

TEST(Tokenizer, MaximumLengthWithoutRoom) {
  std::string json =
      replaceOnce(smallJson(), "\"ids\": [1]", "\"ids\": [1, 1, 1]");
  auto encoding = load(json)->encode("a", {true, 2});
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().status, Status::Limit);
  EXPECT_EQ(encoding.error().message, "a maximum length of 2 has no room for "
                                      "the 3 special tokens around a text");
}

TEST(Tokenizer, OnlyOneOfAPairIsCut) {
  std::string json =
      replaceOnce(smallJson(), "\"truncation\": null",
                  "\"truncation\": {\"max_length\": 4, \"strategy\": "
                  "\"OnlyFirst\", \"stride\": 0}");
  Loaded loaded = load(json);
  auto encoding = loaded->encode("a a a", std::string_view("a a"), {true, 4});
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->typeIds, (Ids{0, 0, 1, 1}));
  encoding = loaded->encode("a", std::string_view("a a a a a"), {true, 4});
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().status, Status::Limit);
}

TEST(Tokenizer, ExtremeLengthsTakeLinearTime) {
  Loaded loaded = load(smallJson());
  double start = processorSeconds();
  std::string word(1000000, 'a');
  EXPECT_EQ(loaded->encode(word)->ids, (Ids{1, 0}));
  std::string words;
  for (int i = 0; i < 50000; ++i)
    words += "aaaaaaaaaaaaaaaaaaax ";
  EXPECT_EQ(loaded->encode(words)->ids.size(), 50001u);
  EXPECT_EQ(loaded->encode(std::string(1000000, '['))->ids.size(), 1000001u);
  EXPECT_EQ(loaded->encode(std::string(1000000, ' '))->ids.size(), 1u);
  expectSeconds(processorSeconds() - start, 20);
}

TEST(Tokenizer, JoinsPiecesAndCleansUp) {
  Loaded loaded = load(smallJson());
  EXPECT_EQ(*loaded->decode({1, 2, 3, 4, 6, 8, 0}), "unaffable, the [UNK]");
  EXPECT_EQ(*loaded->decode({1, 2}, false), "[CLS] un");
  EXPECT_EQ(*loaded->decode({-1, 8, int64_t(1) << 40, 5}), "the a");
  EXPECT_EQ(*loaded->decode({}), "");
}

} // namespace
} // namespace transom::test
