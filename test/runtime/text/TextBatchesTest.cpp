// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same bits alone and in any batch.
#include "test/runtime/text/TextModel.h"

using namespace transom;
using namespace transom::test;

TEST(TextBatches, same_bits_alone_and_in_any_batch) {
  auto model = fakeModel(textManifest(), tables());
  const char *words[] = {"a", "b c", "", "c c c c a", "a b", "zzz a b", "b"};
  std::vector<transom_text> texts;
  std::vector<float> alone;
  for (int i = 0; i != 60; ++i) {
    texts.push_back(text(words[i * 5 % 7]));
    std::vector<float> one = embed(*model, {texts.back()}, 1, 8);
    alone.insert(alone.end(), one.begin(), one.end());
  }
  for (int64_t batch : {1, 3, 60})
    for (int64_t tokens : {8, 19, 500})
      for (unsigned threads : {1u, 3u})
        EXPECT_EQ(embed(*model, texts, batch, tokens, threads), alone);
}

TEST(TextBatches, counts_texts_that_were_cut) {
  auto model = fakeModel(textManifest(), tables());
  size_t cut = 9;
  std::vector<float> out = embed(
      *model, {text("a a a a a a b b b"), text("a"), text("a a a a a a c")}, 2,
      16, 1, &cut);
  EXPECT_EQ(cut, 2u);
  EXPECT_EQ(std::vector<float>(out.begin(), out.begin() + 4),
            std::vector<float>(out.begin() + 8, out.end()));
}
