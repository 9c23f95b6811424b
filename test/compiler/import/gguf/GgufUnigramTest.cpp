// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unigram models return the same ids as the PyPI package tokenizers with the
// original tokenizers.
#include "compiler/import/tokenizer/CharacterMap.h"
#include "test/compiler/import/gguf/TokenizerFixture.h"

using namespace transom;
using namespace transom::test;

namespace {

/// A golden tokenizer's file with its character map.
GgufWriter ofUnigram(const std::string &name) {
  const std::string file = "unigram/" + name;
  GgufWriter writer = ofGolden(file, "t5", "default");
  JsonDocument document = parseGolden(file + ".json");
  JsonValue normalizer = *document.root().find("normalizer");
  if (auto list = normalizer.find("normalizers"))
    normalizer = (*list)[0];
  if (auto map = normalizer.find("precompiled_charsmap")) {
    const std::string bytes = *tokenizer::decodeBase64(*map->asString());
    writer.setBytes("tokenizer.ggml.precompiled_charsmap",
                    ggufArray(0, bytes.size(), bytes));
  }
  return writer;
}

void set(GgufWriter &writer, const char *key, bool value) {
  writer.set(std::string("tokenizer.ggml.") + key, value);
}

std::vector<int64_t> encode(const Opened &opened, const std::string &text,
                            const std::string &pair = "") {
  auto encoding = pair.empty() ? opened.tokenizer->encode(text, {}, {})
                               : opened.tokenizer->encode(text, pair, {});
  EXPECT_TRUE(encoding);
  return encoding ? encoding->ids : std::vector<int64_t>();
}

/// Three pieces, the space marks, fillers and special tokens.
GgufWriter smallUnigram() {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "t5");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"<pad>", "</s>", "<unk>", "▁", "a", "b",
                                      "▁a", "xb"});
  std::string types, scores;
  for (int32_t type : {3, 3, 2, 1, 1, 1, 1, 5})
    types += ggufNumber(type);
  for (float score : {0.f, 0.f, 0.f, -3.f, -2.f, -4.f, -2.5f, -10000.f})
    scores += ggufNumber(score);
  writer.setBytes("tokenizer.ggml.token_type", ggufArray(5, 8, types));
  writer.setBytes("tokenizer.ggml.scores", ggufArray(6, 8, scores));
  return writer;
}

} // namespace

TEST(GgufUnigram, words_as_of_t5) {
  GgufWriter writer = ofUnigram("t5");
  set(writer, "remove_extra_whitespaces", true);
  expectCases(writer, "unigram/t5");
}

TEST(GgufUnigram, marks_and_bytes) {
  GgufWriter writer = ofUnigram("unigram_bytes");
  set(writer, "add_bos_token", true);
  set(writer, "add_eos_token", false);
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(1));
  writer.set("tokenizer.ggml.eos_token_id", uint32_t(2));
  writer.set("tokenizer.ggml.unknown_token_id", uint32_t(0));
  writer.set("tokenizer.ggml.padding_token_id", uint32_t(1));
  expectCases(writer, "unigram/unigram_bytes");
}

/// As llama.cpp writes them: without `remove_extra_whitespaces` each space is a
/// mark, and texts get one more at the start.
TEST(GgufUnigram, spaces_go_by_their_keys) {
  std::unique_ptr<Opened> plain = openTokenizer(smallUnigram());
  EXPECT_EQ(encode(*plain, "a  b"), (std::vector<int64_t>{6, 3, 3, 5, 1}));
  EXPECT_EQ(encode(*plain, " a"), (std::vector<int64_t>{3, 6, 1}));
  GgufWriter writer = smallUnigram();
  set(writer, "add_space_prefix", false);
  EXPECT_EQ(encode(*openTokenizer(writer), "a  b"),
            (std::vector<int64_t>{4, 3, 3, 5, 1}));
  set(writer, "remove_extra_whitespaces", true);
  EXPECT_EQ(encode(*openTokenizer(writer), "  a  b "),
            (std::vector<int64_t>{6, 3, 5, 1}));
}

/// An unknown character has a score 10 below the least normal piece. A score
/// relative to a filler would be lower.
TEST(GgufUnigram, unknown_characters_and_fillers) {
  std::unique_ptr<Opened> opened = openTokenizer(smallUnigram());
  EXPECT_EQ(encode(*opened, "ax"), (std::vector<int64_t>{6, 2, 1}));
  EXPECT_EQ(encode(*opened, "xyb"), (std::vector<int64_t>{3, 2, 5, 1}));
  EXPECT_EQ(encode(*opened, "xb"), (std::vector<int64_t>{3, 2, 5, 1}));
}

TEST(GgufUnigram, pairs_go_by_the_tokens_around_texts) {
  EXPECT_EQ(encode(*openTokenizer(smallUnigram()), "a", "b"),
            (std::vector<int64_t>{6, 1, 3, 5, 1}));
  GgufWriter writer = smallUnigram();
  set(writer, "add_bos_token", true);
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(0));
  EXPECT_EQ(encode(*openTokenizer(writer), "a", "b"),
            (std::vector<int64_t>{0, 6, 1, 1, 3, 5, 1}));
}

TEST(GgufUnigram, a_character_map_is_bytes) {
  GgufWriter writer = smallUnigram();
  writer.set("tokenizer.ggml.precompiled_charsmap", "text");
  Result<gguf::TokenizerTexts> made = makeTexts(writer);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find(
                "'tokenizer.ggml.precompiled_charsmap' is not an array of "
                "bytes"),
            std::string::npos);
}
