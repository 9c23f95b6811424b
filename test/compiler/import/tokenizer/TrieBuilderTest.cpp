// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Double arrays hold exactly their keys.
#include "compiler/import/tokenizer/TrieBuilder.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <random>

namespace transom::tokenizer {
namespace {

TEST(TokenizerTrieBuilder, FindsExactlyItsKeys) {
  std::mt19937 random(11);
  for (size_t count : {1, 2, 17, 3000}) {
    // Draw distinct keys.
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; ++i) {
      std::string text;
      for (size_t n = random() % 7; n > 0; --n)
        text += static_cast<char>(random() % (count > 100 ? 256 : 3));
      texts.push_back(text);
    }
    std::sort(texts.begin(), texts.end());
    texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
    // Build the trie.
    std::vector<TrieKey> keys;
    for (size_t i = 0; i < texts.size(); ++i)
      keys.push_back({texts[i], static_cast<uint32_t>(i * 3)});
    std::vector<TrieUnit> units = buildTrie(keys);
    Trie trie(std::string_view(reinterpret_cast<const char *>(units.data()),
                               units.size() * sizeof(TrieUnit)));
    // It finds each key, and for random strings exactly the keys.
    for (const TrieKey &key : keys)
      ASSERT_EQ(trie.find(key.first), key.second);
    for (int i = 0; i < 1000; ++i) {
      std::string text;
      for (size_t n = random() % 7; n > 0; --n)
        text += static_cast<char>(random() % 4);
      bool known = std::binary_search(texts.begin(), texts.end(), text);
      ASSERT_EQ(trie.find(text) != Trie::none, known);
    }
  }
}

TEST(TokenizerTrieBuilder, NoKeys) {
  EXPECT_TRUE(buildTrie({}).empty());
  EXPECT_EQ(Trie().find("a"), Trie::none);
  EXPECT_EQ(Trie().find(""), Trie::none);
}

} // namespace
} // namespace transom::tokenizer
