// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words in texts as Python finds them.
#include "runtime/text/Words.h"
#include "runtime/json/Json.h"
#include "gtest/gtest.h"
#include <cstdlib>

using namespace transom;

namespace {
class Words : public ::testing::Test {
public:
  void SetUp() override {
    const char *root = std::getenv("TRANSOM_SOURCE_DIR");
    auto parsed = parseJsonFile(std::string(root ? root : ".") +
                                "/test/goldens/gliner/words.json");
    ASSERT_TRUE(parsed) << parsed.error().message;
    document.emplace(*parsed);
  }
  JsonValue get(const char *key) { return *document->root().find(key); }
  std::optional<JsonDocument> document;
};
} // namespace

TEST_F(Words, are_those_of_the_package) {
  JsonValue texts = get("texts"), expected = get("words");
  ASSERT_EQ(texts.size(), expected.size());
  size_t count = 0;
  for (size_t i = 0; i != texts.size(); ++i) {
    std::vector<TextWord> words = splitWords(*texts[i].asString());
    ASSERT_EQ(words.size(), expected[i].size()) << i;
    for (size_t word = 0; word != words.size(); ++word, ++count) {
      EXPECT_EQ(int64_t(words[word].begin), *expected[i][word][0].asInt())
          << i << ' ' << word;
      EXPECT_EQ(int64_t(words[word].end), *expected[i][word][1].asInt())
          << i << ' ' << word;
    }
  }
  EXPECT_GT(count, 500u);
}

TEST_F(Words, have_the_characters_of_python) {
  size_t word = 0;
  for (const char *key : {"characters", "unassigned"})
    ASSERT_GT(get(key).size(), 100u);
  JsonValue ranges = get("characters"), gaps = get("unassigned");
  auto holds = [](JsonValue list, size_t &at, char32_t code) {
    while (at != list.size() && char32_t(*list[at][1].asInt()) < code)
      ++at;
    return at != list.size() && char32_t(*list[at][0].asInt()) <= code;
  };
  size_t gap = 0;
  for (char32_t code = 0; code != 0x110000; ++code) {
    const bool expected = holds(ranges, word, code);
    if (!holds(gaps, gap, code))
      EXPECT_EQ(isWordCharacter(code), expected) << std::hex << uint32_t(code);
  }
}
