// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinds of tokenizers, tokens with a role, and what is refused.
#include "test/compiler/import/gguf/TokenizerFixture.h"

using namespace transom;
using namespace transom::test;

namespace {

std::string textsError(const GgufWriter &writer) {
  Result<gguf::TokenizerTexts> made = makeTexts(writer, 5);
  EXPECT_FALSE(made);
  return made ? "" : withoutByte(made.error().message);
}

std::string textsNote(const GgufWriter &writer) {
  Result<gguf::TokenizerTexts> made = makeTexts(writer, 5);
  EXPECT_TRUE(made);
  EXPECT_FALSE(made->texts.count("tokenizer.json"));
  return made->notes.empty() ? "" : withoutByte(made->notes[0]);
}

} // namespace

TEST(GgufTokenizer, texts_end_at_all_tokens_for_it) {
  GgufWriter writer = smallBpe();
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(3));
  writer.set("tokenizer.ggml.eos_token_id", uint32_t(4));
  writer.set("tokenizer.ggml.eot_token_id", uint32_t(2));
  writer.set("tokenizer.ggml.eom_token_id", uint32_t(4));
  Result<gguf::TokenizerTexts> made = makeTexts(writer);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->texts["generation_config.json"],
            R"({"bos_token_id":3,"eos_token_id":[4,2]})");
}

TEST(GgufTokenizer, what_is_not_supported_is_a_note) {
  EXPECT_EQ(
      textsNote(withKey(smallBpe(), "tokenizer.ggml.model", ggufValue("t5"))),
      "'tokenizer.ggml.model' is 't5'; supported: bert, gpt2, llama; "
      "texts cannot be given");
  const std::string note =
      textsNote(withKey(smallBpe(), "tokenizer.ggml.pre", ggufValue("qwen22")));
  EXPECT_EQ(note.substr(0, 43), "'tokenizer.ggml.pre' is 'qwen22'; supported");
  EXPECT_NE(note.find("did you mean 'qwen2'?"), std::string::npos) << note;
  EXPECT_TRUE(makeTexts(GgufWriter())->texts.empty());
}

TEST(GgufTokenizer, contradictions_are_errors) {
  EXPECT_EQ(textsError(withKey(smallBpe(), "tokenizer.ggml.bos_token_id",
                               ggufValue(5u))),
            "'tokenizer.ggml.bos_token_id' is 5, but there are 5 tokens");
  EXPECT_EQ(textsError(withKey(smallBpe(), "tokenizer.ggml.add_bos_token",
                               ggufValue(true))),
            "'tokenizer.ggml.add_bos_token' is true, but the file names no bos "
            "token");
  EXPECT_EQ(textsError(withKey(smallBpe(), "tokenizer.ggml.add_bos_token",
                               ggufValue(1u))),
            "'tokenizer.ggml.add_bos_token' is uint32; expected a bool");
}
