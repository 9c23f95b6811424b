// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character maps on clusters and characters, and the result positions. The
// results are from the PyPI package tokenizers.
#include "runtime/tokenizer/CharacterMap.h"
#include "compiler/import/tokenizer/CharacterMap.h"
#include "test/runtime/tokenizer/Fixture.h"
#include "test/support/TimeLimit.h"

namespace transom::tokenizer {
namespace {

Characters apply(std::string_view text) {
  static const std::string bytes =
      test::makeCharacterMap({{"\ufb01", "fi"},
                              {"a", "X"},
                              {"e\u0301", "\u00e9"},
                              {"\u200b", ""},
                              {"\r", " "},
                              {"\u2122", "TM!"},
                              {"\U0001f600", ":)"}});
  static const auto map = readCharacterMap(bytes);
  Characters characters = getCharacters(text);
  mapCharacters(map->trie, map->strings, characters);
  return characters;
}

std::string getText(std::string_view text) { return toUtf8(apply(text)); }

std::string getPlaces(std::string_view text) {
  std::string places;
  for (Character c : apply(text))
    places += std::to_string(c.begin) + "-" + std::to_string(c.end) + " ";
  return places;
}

TEST(CharacterMap, ReplacesCharacters) {
  EXPECT_EQ(getText("b\ufb01n"), "bfin");
  EXPECT_EQ(getText("\u2122 \U0001f600 b"), "TM! :) b");
  EXPECT_EQ(getText("b\u200bc"), "bc");
  EXPECT_EQ(getText("\u200b"), "");
  EXPECT_EQ(getText("none"), "none");
  EXPECT_EQ(getText(""), "");
}

TEST(CharacterMap, ReplacesShortClustersAsAWhole) {
  EXPECT_EQ(getText("e\u0301 e"), "\u00e9 e");
  // The rest after the key in its cluster is removed with it.
  EXPECT_EQ(getText("a\u0301b"), "Xb");
  EXPECT_EQ(getText("\r\nb"), " b");
  EXPECT_EQ(getText("\ufb01\u0301"), "fi");
  // A six-byte cluster is mapped character by character.
  EXPECT_EQ(getText("a\u0301\u0301\u0301"), "X\u0301\u0301\u0301");
  EXPECT_EQ(getText("e\u0301\u0301\u0301"), "e\u0301\u0301\u0301");
}

TEST(CharacterMap, PlacesInTheText) {
  EXPECT_EQ(getPlaces("b\ufb01n"), "0-1 1-4 1-4 4-5 ");
  EXPECT_EQ(getPlaces("a\u0301b"), "0-1 3-4 ");
  EXPECT_EQ(getPlaces("b\u200bcd"), "0-1 4-5 5-6 ");
  // Nothing before it replaces a first character that is removed.
  EXPECT_EQ(getPlaces("\u200bcd"), "0-3 3-4 ");
}

/// A map with all keys, as SentencePiece applies it.
CharacterMap
getLongest(const std::vector<std::pair<std::string, std::string>> &rules) {
  auto map = readCharacterMap(test::makeCharacterMap(rules), MapKeys::All);
  EXPECT_TRUE(map) << map.error().message;
  return *map;
}

TEST(CharacterMap, TheLongestKey) {
  const std::string longest(longestMapKey, 'x');
  const CharacterMap map = getLongest({{"a", "1"},
                                       {"abc", "2"},
                                       {"\u00e9", "e"},
                                       {"\u00e9\u0301", "E!"},
                                       {"z", ""},
                                       {longest, "3"},
                                       {longest + "y", "4"}});
  auto getMapped = [&](const std::string &text) {
    Characters characters = getCharacters(text);
    mapLongest(map.trie, map.strings, characters);
    std::string places;
    for (Character c : characters)
      places += " " + std::to_string(c.begin) + "-" + std::to_string(c.end);
    return toUtf8(characters) + places;
  };
  EXPECT_EQ(getMapped("abca"), "21 0-3 3-4");
  EXPECT_EQ(getMapped("abda"), "1bd1 0-1 1-2 2-3 3-4");
  EXPECT_EQ(getMapped("\u00e9\u0301\u00e9"), "E!e 0-4 0-4 4-6");
  EXPECT_EQ(getMapped("zbz"), "b 1-2");
  EXPECT_EQ(getMapped(std::string("a\0b", 3)),
            std::string("1\0b", 3) + " 0-1 1-2 2-3");
  EXPECT_EQ(getMapped(""), "");
  // A key longer than the byte limit is never found.
  EXPECT_EQ(getMapped(longest + "y"), "3y 0-64 64-65");
}

TEST(CharacterMap, BytesThatAreNoMapArray) {
  const CharacterMap map = getLongest({{"ab", "b"}, {"\u00e9", ""}});
  for (size_t i = 0; i < map.trie.size(); i += 3)
    for (char flip : {'\x01', '\x40', '\xff'}) {
      std::string array = map.trie;
      array[i] = static_cast<char>(array[i] ^ flip);
      Characters characters = getCharacters("ab\u00e9 ab\u0301");
      mapLongest(array, map.strings, characters);
      EXPECT_LE(characters.size(), 7u);
    }
  Characters characters = getCharacters("ab");
  mapLongest("", map.strings, characters);
  mapLongest(map.trie, "\xff", characters);
  EXPECT_EQ(toUtf8(characters), "ab");
}

TEST(CharacterMap, LinearTime) {
  std::string text, marks = "a";
  for (int i = 0; i < 300000; ++i) {
    text += "a\u200b\ufb01";
    marks += "\u0301";
  }
  const double start = test::processorSeconds();
  EXPECT_EQ(apply(text).size(), 900000u);
  EXPECT_EQ(apply(marks).size(), 300001u);
  test::expectSeconds(test::processorSeconds() - start, 3);
}

TEST(CharacterMap, BytesThatAreNoMap) {
  const std::string bytes =
      test::makeCharacterMap({{"a", "b"}, {"\u00e9", ""}});
  const auto map = readCharacterMap(bytes);
  for (std::string_view text : {"", "a", "a\u00e9 b\u0301"}) {
    for (size_t i = 0; i < map->trie.size(); i += 3)
      for (char flip : {'\x01', '\xff'}) {
        std::string trie = map->trie;
        trie[i] = static_cast<char>(trie[i] ^ flip);
        Characters characters = getCharacters(text);
        mapCharacters(trie, map->strings, characters);
        EXPECT_LE(characters.size(), text.size());
      }
    Characters characters = getCharacters(text);
    mapCharacters(map->trie, "\xff", characters);
    EXPECT_EQ(toUtf8(characters), text);
  }
}

} // namespace
} // namespace transom::tokenizer
