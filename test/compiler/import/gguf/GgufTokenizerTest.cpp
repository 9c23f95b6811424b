// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizer kinds, tokens with a role, and errors.
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
      textsNote(withKey(smallBpe(), "tokenizer.ggml.model", ggufValue("rwkv"))),
      "'tokenizer.ggml.model' is 'rwkv'; supported: bert, gpt2, llama, t5; "
      "texts cannot be given");
  const std::string note =
      textsNote(withKey(smallBpe(), "tokenizer.ggml.pre", ggufValue("qwen22")));
  EXPECT_EQ(note.substr(0, 43), "'tokenizer.ggml.pre' is 'qwen22'; supported");
  EXPECT_NE(note.find("did you mean 'qwen2'?"), std::string::npos) << note;
  EXPECT_TRUE(makeTexts(GgufWriter())->texts.empty());
}

/// As in llama.cpp, the kind's default replaces such an id.
TEST(GgufTokenizer, ids_outside_of_the_vocabulary_are_ignored) {
  // A BPE with padding, end and begin ids outside the vocabulary.
  GgufWriter writer = smallBpe();
  writer.set("tokenizer.ggml.padding_token_id", uint32_t(0xffffffff));
  writer.setBytes("tokenizer.ggml.eos_token_id",
                  ggufValue(5, ggufNumber(int32_t(-1))));
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(5));
  writer.set("tokenizer.ggml.add_bos_token", true);
  Result<gguf::TokenizerTexts> made = makeTexts(writer);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->notes,
            (std::vector<std::string>{
                "m.gguf: 'tokenizer.ggml.bos_token_id' is 5, but there are 5 "
                "tokens; it was ignored",
                "m.gguf: 'tokenizer.ggml.eos_token_id' is -1, but there are 5 "
                "tokens; it was ignored",
                "m.gguf: 'tokenizer.ggml.padding_token_id' is 4294967295, but "
                "there are 5 tokens; it was ignored"}));
  EXPECT_EQ(made->texts["generation_config.json"], "{}");

  // A model with pieces and an end id outside the vocabulary.
  writer = GgufWriter();
  writer.set("tokenizer.ggml.model", "llama");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"<unk>", "<s>", "</s>"});
  writer.set("tokenizer.ggml.eos_token_id", uint32_t(0xffffffff));
  made = makeTexts(writer);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->notes,
            std::vector<std::string>{
                "m.gguf: 'tokenizer.ggml.eos_token_id' is 4294967295, but "
                "there are 3 tokens; it was ignored, and the token is "
                "'</s>'"});
}

TEST(GgufTokenizer, contradictions_are_errors) {
  EXPECT_EQ(textsError(withKey(smallBpe(), "tokenizer.ggml.add_bos_token",
                               ggufValue(true))),
            "'tokenizer.ggml.add_bos_token' is true, but the file names no bos "
            "token");
  EXPECT_EQ(textsError(withKey(smallBpe(), "tokenizer.ggml.add_bos_token",
                               ggufValue(1u))),
            "'tokenizer.ggml.add_bos_token' is uint32; expected a bool");
}
