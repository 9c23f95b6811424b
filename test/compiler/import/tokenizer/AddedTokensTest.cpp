// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Added tokens: ids, duplicates, and tokens with the same normalized form.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerAddedTokens, Rules) {
  expectError(R"("the": 8)", R"("the": 9)", Status::Rejected,
              "5:2: '/added_tokens/1': added token 'New' gets id 9, which is "
              "that of token 'the'");
  expectError(R"("content": "New")", "\"content\": \"\u0301\"",
              Status::Rejected,
              "5:2: '/added_tokens/1': nothing is left of added token "
              "'\u0301' when it is normalized");
  EXPECT_EQ(getError(R"("id": 9)", R"("id": 2147483648)").status,
            Status::Rejected);
  EXPECT_EQ(getError(R"("id": 9, )", "").status, Status::Rejected);
}

TEST(TokenizerAddedTokens, TokensThatNormalizeAlike) {
  Loaded loaded = load(replaceOnce(
      smallJson(), R"("added_tokens": [)",
      R"("added_tokens": [{"id": 9, "content": "NEW", "single_word": false, "lstrip": false,
 "rstrip": false, "normalized": true, "special": false},)"));
  EXPECT_EQ(loaded->encode("new New", {false, 0})->ids,
            (std::vector<int64_t>{9, 9}));
  EXPECT_EQ(loaded->getId("New"), 10);
  ASSERT_EQ(loaded.notes.size(), 2u);
  EXPECT_EQ(loaded.notes[1],
            "tokenizer.json:6:2: '/added_tokens/2': added token 'New' is the "
            "same as 'NEW' when it is normalized, and is never found in text");
}

TEST(TokenizerAddedTokens, TokensThatComeTwiceAreShownNormalized) {
  const std::string twice =
      R"("added_tokens": [{"id": 9, "content": "NEW", "single_word": false, "lstrip": false,
 "rstrip": false, "normalized": true, "special": true}, {"id": 9, "content": "NEW", "single_word": false,
 "lstrip": false, "rstrip": false, "normalized": false, "special": true},)";
  Loaded loaded = load(replaceOnce(smallJson(), R"("added_tokens": [)", twice));
  // The last definition is found, and the first one's form is shown.
  EXPECT_EQ(loaded->encode("NEW nEW", {false, 0})->ids,
            (std::vector<int64_t>{9, 10}));
  EXPECT_EQ(loaded->token(9), "new");
  EXPECT_FALSE(loaded->isSpecial(9));
}

} // namespace
} // namespace transom::test
