// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair encoding: merges, unknown characters, extreme lengths.
#include "test/runtime/tokenizer/Fixture.h"
#include "test/support/TimeLimit.h"
#include <algorithm>
#include <random>

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

Ids getIds(const std::string &json, std::string_view text) {
  Loaded loaded = load(json);
  auto encoding = loaded->encode(text);
  return encoding ? encoding->ids : Ids{-1};
}

std::string getOffsets(const Encoding &encoding) {
  std::string text;
  for (TokenOffsets offsets : encoding.offsets)
    text +=
        std::to_string(offsets.begin) + "-" + std::to_string(offsets.end) + " ";
  return text;
}

TEST(TokenizerBpe, MergesGoByTheirRank) {
  // 'b c' comes before 'a b', so "abc" is a + bc.
  EXPECT_EQ(getIds(smallBpeJson(), "abc"), Ids{9});
  EXPECT_EQ(getIds(smallBpeJson(), "ab"), Ids{7});
  EXPECT_EQ(getIds(smallBpeJson(), "abab"), (Ids{7, 7}));
  EXPECT_EQ(getIds(smallBpeJson(), "bcab a ab"), (Ids{8, 7, 10, 3, 7}));
  // Without an unknown token, a character that is not a token is omitted.
  EXPECT_EQ(getIds(smallBpeJson(), "azb"), Ids{7});
}

TEST(TokenizerBpe, BytesAndOffsets) {
  Loaded loaded = load(smallBpeJson());
  auto encoding = loaded->encode("a b\u00e9 e\u0301<|end|>");
  ASSERT_TRUE(encoding);
  // " e" has no token of its own letter; composed, the acute is with it.
  EXPECT_EQ(encoding->ids, (Ids{0, 3, 1, 12, 3, 12, 13}));
  EXPECT_EQ(getOffsets(*encoding), "0-1 2-2 2-3 3-5 6-6 6-7 9-16 ");
}

TEST(TokenizerBpe, TrimmedOffsetsOfTokensThatTakeSpaces) {
  Loaded loaded = load(smallBpeJson());
  auto encoding = loaded->encode("a \u3000<|end|> a");
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (Ids{0, 13, 10}));
  EXPECT_EQ(getOffsets(*encoding), "0-1 5-12 13-14 ");
}

TEST(TokenizerBpe, SpacesThatAreNotInTheTextAreNotTrimmed) {
  std::string json = replaceOnce(
      smallBpeJson(), R"({"type": "NFC"})",
      R"({"type": "Replace", "pattern": {"String": "c"}, "content": "b  "})");
  json = replaceOnce(json, R"( ?[a-z]+|)", R"([a-z ]+|)");
  json = replaceOnce(json, R"("Ġab": 11)", R"("Ġab": 11, "bĠ": 13, "bĠĠ": 14)");
  json = replaceOnce(json, R"("merges": [)", R"("merges": ["b Ġ", "bĠ Ġ", )");
  Loaded loaded = load(json);
  auto encoding = loaded->encode("c");
  EXPECT_EQ(encoding->ids, Ids{14});
  EXPECT_EQ(getOffsets(*encoding), "0-1 ");
  EXPECT_EQ(getOffsets(*loaded->encode("ab  ")), "0-1 1-2 ");
}

TEST(TokenizerBpe, IgnoreMergesTakesWholeWords) {
  EXPECT_EQ(getIds(smallBpeJson(), " ab"), (Ids{3, 7}));
  std::string json = replaceOnce(smallBpeJson(), R"("ignore_merges": false)",
                                 R"("ignore_merges": true)");
  EXPECT_EQ(getIds(json, " ab"), Ids{11});
}

/// A vocabulary with a, two bytes and an unknown token, without a
/// pre-tokenizer.
std::string fallbackJson(const std::string &options) {
  return R"({"version": "1.0", "added_tokens": [], "normalizer": null,
"pre_tokenizer": null, "post_processor": null,
"decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
 {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
"model": {"type": "BPE", )" +
         options + R"(
 "vocab": {"<unk>": 0, "a": 1, "<0xC3>": 2, "<0xA9>": 3, "▁": 4}, "merges": []}})";
}

TEST(TokenizerBpe, UnknownCharacters) {
  const std::string text = "a\u00e9xya";
  EXPECT_EQ(getIds(fallbackJson(""), text), (Ids{1, 1}));
  EXPECT_EQ(getIds(fallbackJson(R"("unk_token": "<unk>",)"), text),
            (Ids{1, 0, 0, 0, 1}));
  EXPECT_EQ(
      getIds(fallbackJson(R"("unk_token": "<unk>", "fuse_unk": true,)"), text),
      (Ids{1, 0, 1}));
  std::string fallback =
      R"("unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,)";
  EXPECT_EQ(getIds(fallbackJson(fallback), text), (Ids{1, 2, 3, 0, 1}));
}

/// Words up to 40 characters long, each alone in a new tokenizer, and all
/// repeatedly in one.
TEST(TokenizerBpe, WordsThatComeAgain) {
  Loaded loaded = load(smallBpeJson());
  std::mt19937 random(9);
  std::vector<std::string> words;
  for (int i = 0; i < 200; ++i) {
    std::string word;
    for (size_t n = 1 + random() % 40; n > 0; --n)
      word += static_cast<char>('a' + random() % 4);
    words.push_back(word);
  }
  for (int round = 0; round < 3; ++round)
    for (const std::string &word : words) {
      auto known = loaded->encode(word),
           fresh = load(smallBpeJson())->encode(word);
      EXPECT_EQ(known->ids, fresh->ids) << word;
      ASSERT_EQ(known->offsets.size(), fresh->offsets.size());
      for (size_t i = 0; i < known->offsets.size(); ++i)
        EXPECT_EQ(known->offsets[i].end, fresh->offsets[i].end) << word;
    }
}

TEST(TokenizerBpe, PrefixAndSuffixOfWords) {
  std::string json = R"({"version": "1.0", "added_tokens": [],
"pre_tokenizer": {"type": "Whitespace"},
"model": {"type": "BPE", "continuing_subword_prefix": "#", "end_of_word_suffix": ";",
 "vocab": {"a": 0, "#a": 1, "#a;": 2, "a;": 3, "aa;": 4, "#aa;": 5}, "merges": ["a #a;", "#a #a;"]}})";
  EXPECT_EQ(getIds(json, "a aa aaa"), (Ids{3, 4, 0, 5}));
}

//===-- Extreme lengths ---------------------------------------------------===//

/// CPU time in seconds, the minimum over a few tries.
double getSeconds(const Tokenizer &tokenizer, const std::string &text) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double start = processorSeconds();
    EXPECT_TRUE(tokenizer.encode(text));
    least = std::min(least, processorSeconds() - start);
  }
  return least;
}

/// Words without a space, from one kind of letter and mixed, and runs of
/// spaces.
TEST(TokenizerBpe, LongWordsTakeLinearTime) {
  Loaded loaded = load(smallBpeJson());
  std::mt19937 random(5);
  std::string mixed;
  while (mixed.size() < 125000)
    mixed += static_cast<char>('a' + random() % 3);
  const std::string texts[] = {std::string(125000, 'a'), mixed,
                               std::string(125000, ' '),
                               std::string(125000, '\n')};
  for (const std::string &text : texts) {
    double once = getSeconds(*loaded.tokenizer, text);
    std::string twice = text + text;
    double eight = getSeconds(*loaded.tokenizer, twice + twice + twice + twice);
    SCOPED_TRACE(text.substr(0, 9));
    expectSeconds(eight, 24 * std::max(once, 0.005));
  }
  EXPECT_EQ(loaded->encode(mixed + mixed)->offsets.back().end, 250000u);
}

} // namespace
} // namespace transom::test
