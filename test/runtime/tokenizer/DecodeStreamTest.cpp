// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding id by id: the output consists of whole characters and equals
// decoding at once.
#include "runtime/tokenizer/DecodeStream.h"
#include "runtime/base/Utf8.h"
#include "test/runtime/tokenizer/Fixture.h"
#include <algorithm>
#include <random>

namespace transom::test {
namespace {

/// The output for each id, then the flush output.
std::vector<std::string> deltas(const Tokenizer &tokenizer,
                                const std::vector<int64_t> &ids,
                                bool skipSpecial = true) {
  auto stream = DecodeStream::create(tokenizer, skipSpecial);
  if (!stream)
    return {stream.error().message};
  std::vector<std::string> result;
  std::string all;
  for (int64_t id : ids) {
    size_t before = all.size();
    stream->feed(id, all);
    result.push_back(all.substr(before));
    EXPECT_TRUE(utf8::isValid(result.back()));
  }
  size_t before = all.size();
  stream->flush(all);
  result.push_back(all.substr(before));
  EXPECT_EQ(all, *tokenizer.decode(ids, skipSpecial));
  return result;
}

using Deltas = std::vector<std::string>;
constexpr const char *unknown = "\ufffd";

TEST(TokenizerDecode, BytesWaitForTheirCharacter) {
  Loaded loaded = load(smallBpeJson());
  EXPECT_EQ(deltas(*loaded.tokenizer, {0, 4, 5, 1}),
            (Deltas{"a", "", "\u00e9", "b", ""}));
  // A start without its end is U+FFFD once it cannot be a character.
  EXPECT_EQ(deltas(*loaded.tokenizer, {4, 0}), (Deltas{"", "\ufffda", ""}));
  EXPECT_EQ(deltas(*loaded.tokenizer, {0, 4}), (Deltas{"a", "", unknown}));
  EXPECT_EQ(deltas(*loaded.tokenizer, {5, 4, 4}),
            (Deltas{unknown, "", unknown, unknown}));
  EXPECT_EQ(deltas(*loaded.tokenizer, {}), Deltas{""});
}

TEST(TokenizerDecode, SpecialAndForeignIds) {
  Loaded loaded = load(smallBpeJson());
  EXPECT_EQ(deltas(*loaded.tokenizer, {4, 13, -1, 99, 5}),
            (Deltas{"", "", "", "", "\u00e9", ""}));
  EXPECT_EQ(deltas(*loaded.tokenizer, {13, 0}, false),
            (Deltas{"<|end|>", "a", ""}));
  EXPECT_TRUE(loaded->isSpecial(13));
  EXPECT_FALSE(loaded->isSpecial(0));
}

/// A tokenizer.json with these tokens (ids in this order) and decoder.
Loaded withDecoder(const std::vector<std::string> &tokens,
                   const std::string &decoder) {
  std::string vocabulary;
  for (size_t i = 0; i < tokens.size(); ++i)
    vocabulary += (i ? ", \"" : "\"") + tokens[i] + "\": " + std::to_string(i);
  return load(R"({"version": "1.0", "added_tokens": [], "decoder": )" +
              decoder + R"(, "model": {"type": "BPE", "vocab": {)" +
              vocabulary + R"(}, "merges": []}})");
}

TEST(TokenizerDecode, RunsOfBytesAreTextOrAllUnknown) {
  Loaded loaded = withDecoder(
      {"<0xC3>", "<0xA9>", "\u2581a", "<0x41>"},
      R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
 {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})");
  EXPECT_EQ(deltas(*loaded.tokenizer, {2, 0, 1, 2}),
            (Deltas{"a", "", "", "\u00e9 a", ""}));
  EXPECT_EQ(deltas(*loaded.tokenizer, {3, 0, 2}),
            (Deltas{"", "", "\ufffd\ufffd a", ""}));
  EXPECT_EQ(deltas(*loaded.tokenizer, {2, 0}), (Deltas{"a", "", unknown}));
}

TEST(TokenizerDecode, StrippedEndsWait) {
  Loaded loaded = withDecoder(
      {"a", "_", "__b"},
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "_", "start": 2, "stop": 2}]})");
  EXPECT_EQ(deltas(*loaded.tokenizer, {1, 2, 1, 1, 1, 0, 1}),
            (Deltas{"", "_b", "", "", "_", "__a", "", ""}));
}

TEST(TokenizerDecode, WordEndsWaitForTheNextToken) {
  Loaded loaded =
      withDecoder({"a;", "b", ";"}, R"({"type": "BPEDecoder", "suffix": ";"})");
  EXPECT_EQ(deltas(*loaded.tokenizer, {0, 1, 0}), (Deltas{"", "a ", "b", "a"}));
}

TEST(TokenizerDecode, Metaspace) {
  const std::string tokens = R"({"type": "Metaspace", "replacement": "_", )";
  Loaded loaded =
      withDecoder({"_a_", "_b"}, tokens + R"("prepend_scheme": "always"})");
  EXPECT_EQ(deltas(*loaded.tokenizer, {0, 1}), (Deltas{"a", " b", ""}));
  loaded = withDecoder({"_a_"}, tokens + R"("prepend_scheme": "never"})");
  EXPECT_EQ(deltas(*loaded.tokenizer, {0}), (Deltas{" a ", ""}));
}

/// A WordPiece tokenizer whose settings clean spaces up.
Loaded withCleanUp(const std::vector<std::string> &tokens,
                   const std::string &config) {
  std::string vocabulary;
  for (size_t i = 0; i < tokens.size(); ++i)
    vocabulary += ", \"" + tokens[i] + "\": " + std::to_string(i + 1);
  return load(
      R"({"version": "1.0", "added_tokens": [], "decoder": {"type": "Fuse"}, "model": {"type": "WordPiece", "unk_token": "[UNK]",
 "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0)" +
          vocabulary + "}}}",
      config);
}

TEST(TokenizerDecode, SpacesThatLaterTextDropsWait) {
  const std::vector<std::string> tokens = {"a", " ", ".",  " '", "'", " n",
                                           "t", "r", "ve", "n",  "s", "\u00e9"};
  const std::string config = R"({"clean_up_tokenization_spaces": true})";
  Loaded loaded = withCleanUp(tokens, config);
  auto of = [&](std::vector<std::string> texts) {
    std::vector<int64_t> ids;
    for (const std::string &text : texts)
      ids.push_back(
          1 + (std::find(tokens.begin(), tokens.end(), text) - tokens.begin()));
    return deltas(*loaded.tokenizer, ids);
  };
  EXPECT_EQ(of({"a", " ", "."}), (Deltas{"a", "", ".", ""}));
  EXPECT_EQ(of({"a", " ", "a"}), (Deltas{"a", "", " a", ""}));
  EXPECT_EQ(of({"a", " ", " "}), (Deltas{"a", "", "", "  "}));
  // `a ' s` becomes `a's` by the rule of the lone quote.
  EXPECT_EQ(of({"a", " '", " ", "s"}), (Deltas{"a", "", "", "'s", ""}));
  EXPECT_EQ(of({"a", " '", "ve", "a"}), (Deltas{"a", "", "'ve", "a", ""}));
  EXPECT_EQ(of({"a", " n", "'", "t"}), (Deltas{"a", "", "", "n't", ""}));
  EXPECT_EQ(of({"a", "n", "'", "\u00e9"}),
            (Deltas{"a", "n", "'", "\u00e9", ""}));
  EXPECT_EQ(of({"a", " '", "r"}), (Deltas{"a", "", "", " 'r"}));
  EXPECT_EQ(*loaded.tokenizer->decode({1, 2, 3}), "a.");
  EXPECT_EQ(*loaded.tokenizer->decode({1, 2, 3}, true, /*keepsSpaces=*/true),
            "a .");
}

/// The transformers result for a whole text.
std::string cleanUpAtOnce(std::string text) {
  const std::pair<std::string, std::string> rules[] = {
      {" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
      {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
      {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[from, to] : rules)
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

TEST(TokenizerDecode, CleanedUpTextIsThatOfTheWhole) {
  const std::vector<std::string> tokens = {
      " ", "'", "n", "t", "m",      "s",  "v",   "e",    "r",
      ".", "?", "!", ",", "\u00e9", " '", "n't", " 've", "' "};
  Loaded loaded =
      withCleanUp(tokens, R"({"clean_up_tokenization_spaces": true})");
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::vector<int64_t> ids;
    std::string whole;
    for (size_t length = random() % 12; ids.size() < length;) {
      ids.push_back(1 + int64_t(random() % tokens.size()));
      whole += tokens[size_t(ids.back() - 1)];
    }
    ASSERT_EQ(*loaded.tokenizer->decode(ids), cleanUpAtOnce(whole)) << whole;
  }
}

TEST(TokenizerDecode, CopiesGoOnAlone) {
  Loaded loaded = load(smallBpeJson());
  auto first = DecodeStream::create(*loaded.tokenizer);
  std::string text, other;
  first->feed(4, text);
  DecodeStream second = *first;
  first->feed(5, text);
  second.feed(0, other);
  EXPECT_EQ(text, "\u00e9");
  EXPECT_EQ(other, "\ufffda");
  second.feed(4, other);
  second.reset();
  second.flush(other);
  EXPECT_EQ(other, "\ufffda");
}

} // namespace
} // namespace transom::test
