// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces with scores return the same ids as the PyPI package tokenizers, and
// word pieces lose the word marks.
#include "compiler/import/tokenizer/SentencePiece.h"
#include "test/compiler/import/gguf/TokenizerFixture.h"

using namespace transom;
using namespace transom::test;

TEST(GgufPieces, pieces_as_of_llama2) {
  expectCases(ofGolden("bpe/llama2", "llama", ""), "bpe/llama2");
}

/// Converts a SentencePiece model file as a converter does.
static GgufWriter ofModelFile(const std::string &name) {
  const std::string bytes = golden(name);
  Result<tokenizer::SentencePieceModel> model =
      tokenizer::readSentencePiece(bytes);
  EXPECT_TRUE(model) << model.error().message;
  std::vector<std::string> tokens;
  std::string types, scores;
  for (const tokenizer::Piece &piece : model->pieces) {
    tokens.emplace_back(piece.text);
    types += ggufNumber(static_cast<int32_t>(piece.type));
    scores += ggufNumber(piece.score);
  }
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "llama");
  writer.set("tokenizer.ggml.tokens", tokens);
  writer.setBytes("tokenizer.ggml.token_type",
                  ggufArray(5, tokens.size(), types));
  writer.setBytes("tokenizer.ggml.scores", ggufArray(6, tokens.size(), scores));
  return writer;
}

/// Texts between special tokens always get a space, whereas the class in
/// transformers omits it for texts that start with a space.
TEST(GgufPieces, scores_of_a_model_file) {
  const std::string folder = "folders/llama_legacy/";
  std::unique_ptr<Opened> opened =
      openTokenizer(withKey(ofModelFile(folder + "tokenizer.model"),
                            "tokenizer.ggml.add_eos_token", ggufValue(true)));
  ASSERT_TRUE(opened->tokenizer);
  JsonDocument cases = parseGolden(folder + "cases.json");
  int compared = 0;
  for (JsonValue expected : cases.root().elements()) {
    const std::string text(*expected.find("text")->asString());
    if (text.substr(0, 1) == " " || text.substr(0, 3) == "▁" ||
        text.find('<') != text.npos)
      continue;
    SCOPED_TRACE(utf8::printable(text));
    auto encoding = opened->tokenizer->encode(text, {}, {});
    ASSERT_TRUE(encoding);
    EXPECT_EQ(encoding->ids, *expected.find("ids")->asIntArray(0, INT32_MAX));
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

TEST(GgufPieces, word_pieces_lose_the_marks_of_words) {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "bert");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                      "▁door", "s", "▁s"});
  for (auto [key, id] : {std::pair("padding", 0u), std::pair("unknown", 1u),
                         std::pair("bos", 2u), std::pair("seperator", 3u)})
    writer.set("tokenizer.ggml." + std::string(key) + "_token_id", id);
  std::unique_ptr<Opened> opened = openTokenizer(writer);
  ASSERT_TRUE(opened->tokenizer);
  auto encoding = opened->tokenizer->encode("DOORS s x", "door", {});
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (std::vector<int64_t>{2, 4, 5, 6, 1, 3, 4, 3}));
  EXPECT_EQ(encoding->typeIds, (std::vector<int64_t>{0, 0, 0, 0, 0, 0, 1, 1}));
}
