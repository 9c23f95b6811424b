// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pieces with scores give the ids that the PyPI package tokenizers gives, and
// word pieces lose the marks of words.
#include "test/compiler/import/gguf/TokenizerFixture.h"

using namespace transom;
using namespace transom::test;

TEST(GgufPieces, pieces_as_of_llama2) {
  expectCases(ofGolden("bpe/llama2", "llama", ""), "bpe/llama2");
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
