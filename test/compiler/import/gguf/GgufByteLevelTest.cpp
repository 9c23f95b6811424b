// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-level BPE returns the same ids as the PyPI package tokenizers.
#include "test/compiler/import/gguf/TokenizerFixture.h"

using namespace transom;
using namespace transom::test;

TEST(GgufByteLevel, byte_level_as_of_gpt2) {
  expectCases(ofGolden("bpe/gpt2", "gpt2", "gpt-2"), "bpe/gpt2");
}

TEST(GgufByteLevel, byte_level_as_of_llama3) {
  GgufWriter writer = ofGolden("bpe/llama3", "gpt2", "llama-bpe");
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(1002));
  expectCases(writer, "bpe/llama3");
}

TEST(GgufByteLevel, byte_level_as_of_qwen2) {
  // Token 1004 is matched in normalized text, which a file cannot express.
  expectCases(ofGolden("bpe/qwen2", "gpt2", "qwen2"), "bpe/qwen2", 1004);
}

TEST(GgufByteLevel, tokens_around_texts) {
  auto getIds = [](const GgufWriter &writer) {
    std::unique_ptr<Opened> opened = openTokenizer(writer);
    auto encoding = opened->tokenizer->encode("ab", "a", {});
    EXPECT_TRUE(encoding) << encoding.error().message;
    return encoding->ids;
  };
  GgufWriter writer = smallBpe();
  EXPECT_EQ(getIds(writer), (std::vector<int64_t>{2, 0}));
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(3));
  writer.set("tokenizer.ggml.eos_token_id", uint32_t(4));
  EXPECT_EQ(getIds(writer), (std::vector<int64_t>{2, 0}));
  writer.set("tokenizer.ggml.add_bos_token", true);
  EXPECT_EQ(getIds(writer), (std::vector<int64_t>{3, 2, 3, 0}));
  writer.set("tokenizer.ggml.add_eos_token", true);
  EXPECT_EQ(getIds(writer), (std::vector<int64_t>{3, 2, 4, 3, 0, 4}));
  writer = withKey(writer, "tokenizer.ggml.pre", ggufValue("roberta-bpe"));
  EXPECT_EQ(getIds(writer), (std::vector<int64_t>{3, 2, 4, 4, 0, 4}));
}
