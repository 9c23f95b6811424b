// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens in a file: types, names for tokens without text, and errors.
#include "compiler/import/gguf/GgufTokens.h"
#include "test/compiler/import/gguf/TinyGguf.h"

using namespace transom;
using namespace transom::test;

namespace {

Result<std::vector<gguf::Token>> readTokens(const GgufWriter &writer,
                                            int64_t vocabulary = 4) {
  TempFolder folder;
  Result<gguf::File> file =
      gguf::File::open(folder.write("m.gguf", writer.bytes()));
  EXPECT_TRUE(file) << file.error().message;
  return gguf::TokenReader(*file).readTokens(vocabulary);
}

GgufWriter threeTokens() {
  GgufWriter writer;
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "b"});
  return writer;
}

std::string tokensError(const GgufWriter &writer, int64_t vocabulary = 4) {
  return withoutByte(getError(readTokens(writer, vocabulary)));
}

} // namespace

TEST(GgufTokens, types_and_scores) {
  GgufWriter writer = threeTokens();
  auto tokens = readTokens(writer);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ((*tokens)[1].text, "[EMPTY_1]");
  EXPECT_EQ((*tokens)[2].type, gguf::TokenType::Normal);
  writer.setBytes(
      "tokenizer.ggml.token_type",
      ggufArray(5, 3, ggufNumber(3) + ggufNumber(1) + ggufNumber(99)));
  writer.setBytes(
      "tokenizer.ggml.scores",
      ggufArray(6, 3, ggufNumber(0.0f) + ggufNumber(-1.5f) + ggufNumber(0.0f)));
  tokens = readTokens(writer);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ((*tokens)[0].type, gguf::TokenType::Control);
  EXPECT_EQ((*tokens)[1].score, -1.5);
  EXPECT_EQ((*tokens)[2].type, gguf::TokenType::Normal);
}

TEST(GgufTokens, errors) {
  EXPECT_EQ(tokensError(threeTokens(), 2),
            "'tokenizer.ggml.tokens' has 3 tokens, but 'token_embd.weight' has "
            "2 rows");
  EXPECT_EQ(tokensError(
                withKey(threeTokens(), "tokenizer.ggml.tokens", ggufValue(1u))),
            "'tokenizer.ggml.tokens' is not an array of strings");
  EXPECT_EQ(tokensError(withKey(threeTokens(), "tokenizer.ggml.tokens",
                                ggufValue(std::vector<std::string>{"a", "a"}))),
            "'tokenizer.ggml.tokens' has 'a' twice, as 0 and 1");
  EXPECT_EQ(tokensError(withKey(threeTokens(), "tokenizer.ggml.scores",
                                ggufArray(6, 1, ggufNumber(0.0f)))),
            "'tokenizer.ggml.scores' has 1 elements; expected one for each of "
            "3 tokens");
  const std::string nan(4, '\xff');
  EXPECT_EQ(
      tokensError(withKey(threeTokens(), "tokenizer.ggml.scores",
                          ggufArray(6, 3, nan + nan + nan))),
      "'tokenizer.ggml.scores' has an element that is not a finite number");
}
