// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Added tokens between other text.
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

TEST(AddedTokens, AreFoundInWords) {
  Loaded loaded = load(smallJson());
  EXPECT_EQ(loaded->encode("a[CLS]anew a")->ids, (Ids{1, 5, 1, 5, 9, 5}));
  EXPECT_EQ(loaded->getId("New"), 9);
  EXPECT_EQ(loaded->token(9), "new");
}

/// The small tokenizer with a space as a token that takes the adjacent spaces.
std::string spaceToken(const std::string &flags) {
  std::string json =
      replaceOnce(smallJson(), "\"content\": \"New\"", "\"content\": \" \"");
  json = replaceOnce(json, "\"normalized\": true", "\"normalized\": false");
  size_t second = json.find("\"single_word\": false", json.find("\" \""));
  size_t end = json.find("\"normalized\"", second);
  return json.replace(second, end - second, "\"single_word\": false, " + flags);
}

TEST(AddedTokens, StrippingTokensInALongRunTakeLinearTime) {
  std::string spaces(200000, ' ');
  // Each space is found, but the first has taken them all.
  auto encoding = load(spaceToken("\"lstrip\": true, \"rstrip\": true, "))
                      ->encode(spaces, {false, 0});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, Ids{9});
  encoding = load(spaceToken("\"lstrip\": false, \"rstrip\": true, "))
                 ->encode(spaces, {false, 0});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids.size(), 200000u);
  EXPECT_EQ(encoding->offsets[1].begin, 1u);
  EXPECT_EQ(encoding->offsets[1].end, 200000u);
}

} // namespace
} // namespace transom::test
