// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character maps on clusters and characters, and the places of what they make.
// The results are those of the PyPI package tokenizers.
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
  // What follows the key in its cluster goes with it.
  EXPECT_EQ(getText("a\u0301b"), "Xb");
  EXPECT_EQ(getText("\r\nb"), " b");
  EXPECT_EQ(getText("\ufb01\u0301"), "fi");
  // A cluster of six bytes goes character by character.
  EXPECT_EQ(getText("a\u0301\u0301\u0301"), "X\u0301\u0301\u0301");
  EXPECT_EQ(getText("e\u0301\u0301\u0301"), "e\u0301\u0301\u0301");
}

TEST(CharacterMap, PlacesInTheText) {
  EXPECT_EQ(getPlaces("b\ufb01n"), "0-1 1-4 1-4 4-5 ");
  EXPECT_EQ(getPlaces("a\u0301b"), "0-1 3-4 ");
  EXPECT_EQ(getPlaces("b\u200bcd"), "0-1 4-5 5-6 ");
  // Nothing before it takes the place of a first character that is removed.
  EXPECT_EQ(getPlaces("\u200bcd"), "0-3 3-4 ");
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
