// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair encoding: merges, unknown characters, errors of its files, extreme
// lengths.
#include "test/runtime/tokenizer/Fixture.h"
#include <algorithm>
#include <ctime>
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
  // A character that is not a token is left out without an unknown token.
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

TEST(TokenizerBpe, AMergeThatComesTwiceHasItsLastRank) {
  std::string json = replaceOnce(smallBpeJson(), R"(["a", "bc"], )",
                                 R"(["a", "bc"], "b c", )");
  EXPECT_EQ(getIds(json, "abc"), (Ids{7, 2}));
}

/// A vocabulary of a, two bytes and an unknown token, without a pre-tokenizer.
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

TEST(TokenizerBpe, PrefixAndSuffixOfWords) {
  std::string json = R"({"version": "1.0", "added_tokens": [],
"pre_tokenizer": {"type": "Whitespace"},
"model": {"type": "BPE", "continuing_subword_prefix": "#", "end_of_word_suffix": ";",
 "vocab": {"a": 0, "#a": 1, "#a;": 2, "a;": 3, "aa;": 4, "#aa;": 5}, "merges": ["a #a;", "#a #a;"]}})";
  EXPECT_EQ(getIds(json, "a aa aaa"), (Ids{3, 4, 0, 5}));
}

//===-- Files that are wrong ----------------------------------------------===//

void expectError(const std::string &from, const std::string &to, Status status,
                 const std::string &message) {
  SCOPED_TRACE(to);
  auto imported =
      importTokenizer(replaceOnce(smallBpeJson(), from, to), "tokenizer.json");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().status, status);
  EXPECT_EQ(imported.error().message, "tokenizer.json:" + message);
}

TEST(TokenizerBpe, MergesOfMissingTokens) {
  expectError(R"("b c")", R"("b d")", Status::Rejected,
              "14:13: '/model/merges/0': token 'd' of a merge is not in the "
              "vocabulary");
  expectError(R"(["a", "b"])", R"(["x", "b"])", Status::Rejected,
              "14:20: '/model/merges/1': token 'x' of a merge is not in the "
              "vocabulary");
  expectError(R"("b c")", R"("c b")", Status::Rejected,
              "14:13: '/model/merges/0': token 'cb' of a merge is not in the "
              "vocabulary");
}

TEST(TokenizerBpe, MalformedMerges) {
  expectError(R"("b c")", R"("bc")", Status::Rejected,
              "14:13: '/model/merges/0': expected a merge of two tokens with a "
              "space between them, got 'bc'");
  expectError(R"("b c")", R"("b c ")", Status::Rejected,
              "14:13: '/model/merges/0': expected a merge of two tokens with a "
              "space between them, got 'b c '");
  expectError(R"(["a", "b"])", R"(["a"])", Status::Rejected,
              "14:20: '/model/merges/1': expected a merge of two tokens, got "
              "1");
  expectError(R"(["a", "b"])", R"(["a", 7])", Status::Rejected,
              "14:26: '/model/merges/1/1': expected a string, got an integer");
  expectError(R"("b c")", "7", Status::Rejected,
              "14:13: '/model/merges/0': expected a string, got an integer");
  expectError("\"merges\": [", "\"merges\": {}, \"x\": [", Status::Rejected,
              "14:12: '/model/merges': expected an array, got an object");
  expectError("\"merges\"", "\"x\"", Status::Rejected,
              "11:10: '/model': missing key 'merges'");
}

TEST(TokenizerBpe, Options) {
  expectError(R"("unk_token": null)", R"("unk_token": "<unk>")",
              Status::Rejected,
              "11:56: '/model/unk_token': unknown token '<unk>' is not in the "
              "vocabulary");
  expectError(R"("dropout": null)", R"("dropout": 0.1)", Status::Unsupported,
              "11:37: '/model/dropout': unsupported dropout of merges; "
              "supported: null, 0");
  expectError(R"("fuse_unk": false)", R"("fuse_unk": 1)", Status::Rejected,
              "12:42: '/model/fuse_unk': expected a boolean, got an integer");
  expectError(R"("a": 0)", R"("a": 1)", Status::Rejected,
              "13:25: '/model/vocab/b': id 1 is that of token 'a' too");
  expectError(R"("a": 0)", R"("a": -1)", Status::Rejected,
              "13:17: '/model/vocab/a': expected an integer from 0 to "
              "2147483647, got -1");
}

TEST(TokenizerBpe, PatternsThatAreNotBuilt) {
  expectError(R"( ?[a-z]+|)", R"((?<=a)b|)", Status::Unsupported,
              "7:41: '/pre_tokenizer/pretokenizers/0/pattern/Regex': "
              "unsupported regular expression "
              "'(?<=a)b|\\s+(?!\\S)|\\s+': a group '(?<='; supported: (...), "
              "(?:...), (?i:...), (?=x), (?!x)");
  expectError(R"("behavior": "Isolated")", R"("behavior": "Apart")",
              Status::Rejected,
              "7:83: '/pre_tokenizer/pretokenizers/0/behavior': unknown "
              "behavior 'Apart'; supported: Removed, Isolated, "
              "MergedWithPrevious, MergedWithNext, Contiguous");
}

TEST(TokenizerBpe, DeepNestingIsRefused) {
  std::string nested;
  for (int i = 0; i < 100; ++i)
    nested += R"({"type": "Sequence", "normalizers": [)";
  auto imported = importTokenizer(
      replaceOnce(smallBpeJson(), R"({"type": "NFC"})", nested), "t.json");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().status, Status::Rejected);
}

/// Each character replaced by others: an error or a tokenizer, never a crash.
TEST(TokenizerBpe, ChangedCharactersNeverCrash) {
  std::string json = smallBpeJson();
  size_t accepted = 0;
  for (size_t i = 0; i < json.size(); ++i)
    for (char c : {'0', '"', '}', 'x', ' ', '('}) {
      std::string changed = json;
      changed[i] = c;
      auto imported = importTokenizer(changed, "t.json");
      if (!imported)
        continue;
      ++accepted;
      auto tokenizer = Tokenizer::open(imported->tables);
      ASSERT_TRUE(tokenizer) << tokenizer.error().message;
      auto encoding = tokenizer->encode("ab abc\n e\u0301x<|end|>");
      ASSERT_TRUE(encoding);
      (void)tokenizer->decode(encoding->ids);
    }
  EXPECT_GT(accepted, 0u);
}

//===-- Extreme lengths ---------------------------------------------------===//

/// Seconds of processor time, the least of a few tries.
double getSeconds(const Tokenizer &tokenizer, const std::string &text) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    std::clock_t start = std::clock();
    EXPECT_TRUE(tokenizer.encode(text));
    least = std::min(least, double(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return least;
}

/// Ids chosen so that all merges of "x" begin at one slot: never quadratic.
TEST(TokenizerBpe, MergesMadeToCollideAreRefused) {
  constexpr size_t merges = 3000, slots = merges + (merges + 2) / 3;
  std::string vocabulary = "\"x\": 0", list;
  uint32_t id = 1;
  for (size_t i = 0; i < merges; ++i, ++id) {
    while (tokenizer::mergeHome(0, id, slots) != 7)
      ++id;
    std::string name = std::to_string(i);
    vocabulary += ", \"" + name + "\": " + std::to_string(id) + ", \"x" + name +
                  "\": " + std::to_string(1000000000 + i);
    list += (i ? ", \"x " : "\"x ") + name + "\"";
  }
  auto imported =
      importTokenizer(R"({"model": {"type": "BPE", "vocab": {)" + vocabulary +
                          R"(}, "merges": [)" + list + "]}}",
                      "t.json");
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().status, Status::Rejected);
  EXPECT_EQ(imported.error().message, "t.json: tokenizer tables with more than "
                                      "2048 merges in one run of slots");
}

/// Words without a space, of one kind of letter and mixed, and runs of spaces.
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
    EXPECT_LT(eight, 24 * std::max(once, 0.005)) << text.substr(0, 9);
  }
  EXPECT_EQ(loaded->encode(mixed + mixed)->offsets.back().end, 250000u);
}

} // namespace
} // namespace transom::test
