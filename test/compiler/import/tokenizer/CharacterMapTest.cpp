// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Precompiled character maps: keys, malformed ones, base 64.
#include "compiler/import/tokenizer/CharacterMap.h"
#include "runtime/tokenizer/Tables.h"
#include "test/compiler/import/tokenizer/ImportErrors.h"
#include "test/support/TimeLimit.h"

namespace transom::test {
namespace {

using namespace tokenizer;

/// Returns a key's replacement, or '-'.
std::string findKey(const CharacterMap &map, std::string_view key) {
  uint32_t place = Trie(map.trie).find(key);
  return place == Trie::none ? "-" : std::string(map.strings.c_str() + place);
}

TEST(CharacterMapImport, Keys) {
  auto map = readCharacterMap(makeCharacterMap(
      {{"ab", "x"}, {"ac", ""}, {"abc", "never"}, {"\u00e9", "e"}}));
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(findKey(*map, "ab"), "x");
  EXPECT_EQ(findKey(*map, "ac"), "");
  EXPECT_EQ(findKey(*map, "\u00e9"), "e");
  EXPECT_EQ(findKey(*map, "a"), "-");
  // A shorter key is always found first.
  EXPECT_EQ(findKey(*map, "abc"), "-");
}

std::string getMessage(const std::string &bytes) {
  auto map = readCharacterMap(bytes);
  return map ? "accepted" : map.error().message;
}

TEST(CharacterMapImport, Malformed) {
  std::string good = makeCharacterMap({{"a", "b"}});
  EXPECT_EQ(getMessage(good), "accepted");
  EXPECT_EQ(getMessage(""),
            "malformed character map: 0 bytes, expected at least 4");
  EXPECT_EQ(getMessage(good.substr(0, 100)),
            "malformed character map: an array of 3072 bytes among 96");
  EXPECT_EQ(getMessage(std::string(8, '\0')),
            "malformed character map: an array of 0 bytes among 4");
  EXPECT_EQ(getMessage(good + '\xff'),
            "malformed character map: its strings are not UTF-8 at byte 2");
  std::string outside = good;
  outside[4 + 4 * 512] = 9;
  EXPECT_EQ(getMessage(outside),
            "malformed character map: no string starts at 9 of 2 bytes");
}

/// All states have the same children, so there are many paths.
TEST(CharacterMapImport, SharedStatesHaveALimit) {
  std::string map = makeCharacterMap({{"a", "b"}});
  for (uint32_t label = 1; label < 256; ++label) {
    uint32_t unit = label << 10 | label;
    std::memcpy(&map[4 + 4 * (256 + label)], &unit, 4);
  }
  const double start = processorSeconds();
  EXPECT_EQ(getMessage(map), "a character map with more than 200000 states");
  expectSeconds(processorSeconds() - start, 10);
}

/// With all keys, each state is looked at once, and the array stays as it is.
TEST(CharacterMapImport, AllKeys) {
  std::string shared = makeCharacterMap({{"a", "b"}});
  const size_t arrayBytes = shared.size() - 4 - 2;
  for (uint32_t label = 1; label < 256; ++label) {
    uint32_t unit = label << 10 | label;
    std::memcpy(&shared[4 + 4 * (256 + label)], &unit, 4);
  }
  const double start = processorSeconds();
  auto map = readCharacterMap(shared, MapKeys::All);
  expectSeconds(processorSeconds() - start, 1);
  ASSERT_TRUE(map) << map.error().message;
  EXPECT_EQ(map->trie.size(), arrayBytes);
  EXPECT_LE(map->strings.size(), 3u);

  std::string outside = makeCharacterMap({{"a", "b"}, {"ab", "c"}});
  outside[4 + 4 * 768] = 9;
  auto wrong = readCharacterMap(outside, MapKeys::All);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "malformed character map: no string starts at 9 of 4 bytes");
}

TEST(CharacterMapImport, EveryByteChanged) {
  std::string good = makeCharacterMap({{"ab", "x"}, {"\u00e9", ""}});
  for (size_t i = 0; i < good.size(); ++i)
    for (char flip : {'\x01', '\x80', '\xff'}) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      (void)readCharacterMap(changed);
      (void)readCharacterMap(changed, MapKeys::All);
    }
}

TEST(CharacterMapImport, Base64) {
  EXPECT_EQ(decodeBase64(""), "");
  EXPECT_EQ(decodeBase64("AP/+"), std::string("\0\xff\xfe", 3));
  EXPECT_EQ(decodeBase64("YQ=="), "a");
  EXPECT_EQ(decodeBase64("YWI="), "ab");
  EXPECT_EQ(decodeBase64("YWI"), std::nullopt);
  EXPECT_EQ(decodeBase64("YW-="), std::nullopt);
}

TEST(CharacterMapImport, InAFile) {
  const std::string none = R"("normalizer": null)";
  auto normalizer = [](const std::string &map) {
    return R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": )" +
           map + "}";
  };
  expectUnigramError(none, normalizer("\"?\""), Status::Rejected,
                     "3:63: '/normalizer/precompiled_charsmap': expected a "
                     "text in base 64");
  expectUnigramError(none, normalizer("\"AAAA\""), Status::Rejected,
                     "3:63: '/normalizer/precompiled_charsmap': malformed "
                     "character map: 3 bytes, expected at least 4");
}

} // namespace
} // namespace transom::test
