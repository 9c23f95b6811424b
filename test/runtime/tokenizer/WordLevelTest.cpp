// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words with and without a token.
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

std::string withUnknown(const std::string &unknown) {
  return R"({"added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null,
    "decoder": null, "model": {"type": "WordLevel", "unk_token": ")" +
         unknown + R"(", "vocab": {"[UNK]": 0, "the": 1, "fox": 2}}})";
}

TEST(WordLevel, WordsWithoutATokenAreUnknown) {
  Loaded loaded = load(withUnknown("[UNK]"));
  ASSERT_TRUE(loaded.tokenizer);
  auto encoding = loaded->encode("the foxes fox thefox");
  ASSERT_TRUE(encoding) << encoding.error().message;
  EXPECT_EQ(encoding->ids, (std::vector<int64_t>{1, 0, 2, 0}));
  EXPECT_EQ(encoding->offsets[3].begin, 14u);
  EXPECT_EQ(encoding->offsets[3].end, 20u);
}

TEST(WordLevel, WithoutAnUnknownTokenTheyAreAnError) {
  Loaded loaded = load(withUnknown("<unk>"));
  ASSERT_TRUE(loaded.tokenizer);
  auto encoding = loaded->encode("the dog");
  ASSERT_FALSE(encoding);
  EXPECT_EQ(encoding.error().status, Status::Rejected);
  EXPECT_EQ(encoding.error().message,
            "the word at byte 4 is not in the vocabulary, which has no unknown "
            "token");
  EXPECT_TRUE(loaded->encode("the fox"));
}

} // namespace
} // namespace transom::test
