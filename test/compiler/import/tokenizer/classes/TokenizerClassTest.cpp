// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer class for a folder.
#include "compiler/import/tokenizer/classes/TokenizerClass.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

std::string getClass(const ClassHints &hints) {
  return getSerializedClass(hints, /*hasByteLevel=*/false);
}

TEST(TokenizerClass, TheSettingsCountBeforeTheConfig) {
  EXPECT_EQ(getClass({"BertTokenizerFast", "RobertaTokenizer", "bert"}),
            "BertTokenizer");
  EXPECT_EQ(getClass({"", "RobertaTokenizerFast", "bert"}), "RobertaTokenizer");
  EXPECT_EQ(getClass({"", "", "bert"}), "BertTokenizer");
  EXPECT_EQ(getClass({"", "", "bart"}), "BartTokenizer");
  EXPECT_EQ(getClass({"", "", "unknown"}), generalClass);
  EXPECT_EQ(getClass({"", "", ""}), generalClass);
}

TEST(TokenizerClass, GeneralClasses) {
  for (const char *name : {"PreTrainedTokenizerFast", "PreTrainedTokenizer",
                           "TokenizersBackend"}) {
    EXPECT_EQ(getClass({name, "", "bert"}), generalClass) << name;
    EXPECT_EQ(getFilesClass({name, "", "bert"}), "BertTokenizer") << name;
    EXPECT_EQ(getFilesClass({name, "RobertaTokenizer", "bert"}),
              "RobertaTokenizer");
  }
  EXPECT_EQ(getFilesClass({"", "", "unknown"}), "");
}

TEST(TokenizerClass, TypesWhoseFoldersNameAnotherClass) {
  EXPECT_EQ(getClass({"BertTokenizer", "", "modernbert"}), generalClass);
  EXPECT_EQ(getClass({"LlamaTokenizer", "", "mistral"}), generalClass);
  EXPECT_EQ(getClass({"LlamaTokenizerFast", "", "phi3"}), generalClass);
  EXPECT_EQ(getClass({"PreTrainedTokenizerFast", "", "qwen2"}),
            "Qwen2Tokenizer");
  EXPECT_EQ(getClass({"PreTrainedTokenizerFast", "", "qwen3"}), generalClass);
}

TEST(TokenizerClass, ByteLevelModelsOfLlama) {
  const ClassHints llama{"LlamaTokenizer", "", "llama"};
  EXPECT_EQ(getSerializedClass(llama, true), generalClass);
  EXPECT_EQ(getSerializedClass(llama, false), "LlamaTokenizer");
  EXPECT_EQ(getClass({"", "", "llama"}), generalClass);
  EXPECT_EQ(getFilesClass({"", "", "llama"}), "LlamaTokenizer");
  EXPECT_EQ(getSerializedClass({"GPT2Tokenizer", "", "gpt2"}, true),
            "GPT2Tokenizer");
}

TEST(TokenizerClass, TokenTypes) {
  EXPECT_TRUE(hasTypes("BertTokenizer"));
  EXPECT_TRUE(hasTypes("DebertaV2Tokenizer"));
  EXPECT_FALSE(hasTypes("RobertaTokenizer"));
  EXPECT_FALSE(hasTypes(generalClass));
}

} // namespace
} // namespace transom::tokenizer
