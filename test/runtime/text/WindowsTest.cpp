// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows over texts: their tokens, and invalid windows.
#include "runtime/text/Windows.h"
#include "test/runtime/text/TextModel.h"

using namespace transom;
using namespace transom::test;

namespace {

using Ids = std::vector<int64_t>;

Result<std::vector<TextWindow>> split(const std::string &prompt,
                                      const std::string &words, size_t most,
                                      size_t overlap) {
  auto model = fakeModel(textManifest(), tables());
  const std::string all = prompt + words;
  transom_tokenize_options uncut = transom_tokenize_options_default();
  uncut.no_truncation = 1;
  auto encoding = encodeText(*model, {all.data(), all.size()}, nullptr, uncut);
  EXPECT_TRUE(bool(encoding)) << encoding.error().message;
  return splitIntoWindows(*encoding, prompt.size(), most, overlap);
}

std::vector<Ids> getIds(const Result<std::vector<TextWindow>> &windows) {
  EXPECT_TRUE(bool(windows)) << windows.error().message;
  std::vector<Ids> ids;
  for (const TextWindow &window : *windows) {
    ids.push_back(window.encoding.ids);
    EXPECT_EQ(window.encoding.typeIds.size(), ids.back().size());
  }
  return ids;
}

} // namespace

TEST(Windows, have_the_special_tokens_of_the_text) {
  auto windows = split("", "a b c a b", 4, 0);
  EXPECT_EQ(getIds(windows),
            (std::vector<Ids>{{2, 10, 20, 3}, {2, 30, 10, 3}, {2, 20, 3}}));
  EXPECT_EQ((*windows)[0].own, 2u);
  EXPECT_EQ((*windows)[2].own, 1u);
}

TEST(Windows, overlap) {
  EXPECT_EQ(getIds(split("", "a b c a b", 5, 1)),
            (std::vector<Ids>{{2, 10, 20, 30, 3}, {2, 30, 10, 20, 3}}));
  EXPECT_EQ(getIds(split("", "a b c a", 5, 2)),
            (std::vector<Ids>{{2, 10, 20, 30, 3}, {2, 20, 30, 10, 3}}));
}

TEST(Windows, have_the_prompt) {
  auto windows = split("c c ", "a b a", 6, 0);
  EXPECT_EQ(getIds(windows),
            (std::vector<Ids>{{2, 30, 30, 10, 20, 3}, {2, 30, 30, 10, 3}}));
  EXPECT_EQ((*windows)[0].own, 2u);
}

TEST(Windows, texts_that_fit_are_whole) {
  EXPECT_EQ(getIds(split("", "a b", 4, 9)), (std::vector<Ids>{{2, 10, 20, 3}}));
  EXPECT_EQ(getIds(split("", "", 1, 0)), (std::vector<Ids>{{2, 3}}));
}

TEST(Windows, need_room) {
  auto windows = split("c ", "a b c", 5, 2);
  ASSERT_FALSE(windows);
  EXPECT_EQ(windows.error().status, Status::Usage);
  EXPECT_EQ(windows.error().message,
            "a chunk of 5 tokens, of which 3 are special or of the prompt and "
            "2 overlap, has no room for others");
}
