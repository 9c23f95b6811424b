// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders with vocab.json and merges.txt: the classes, and files that do not
// fit. test/goldens/tokenizer/folders has folders from trained models.
#include "compiler/import/tokenizer/ImportMerges.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

const char *const smallVocabulary =
    R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "Ġ": 6,
        "ab": 7, "Ġab": 8, "<|endoftext|>": 9, "<mask>": 10})";
const char *const smallMerges = "#version: 0.2\na b\nĠ ab\n";

struct MergesText {
  std::string vocabulary = smallVocabulary, merges = smallMerges, config = "{}";
  std::optional<std::string> added, special;
};

Result<ImportedTokenizer> importMerges(std::string_view name,
                                       const MergesText &files) {
  tokenizer::SettingFiles settings;
  settings.config = NamedFile{files.config, "tokenizer_config.json"};
  if (files.added)
    settings.addedTokens = NamedFile{*files.added, "added_tokens.json"};
  if (files.special)
    settings.specialTokens =
        NamedFile{*files.special, "special_tokens_map.json"};
  return importMergesTokenizer(name, {{files.vocabulary, "vocab.json"},
                                      {files.merges, "merges.txt"},
                                      settings});
}

Loaded loadMerges(std::string_view name, const MergesText &files = {}) {
  auto imported = importMerges(name, files);
  EXPECT_TRUE(imported) << imported.error().message;
  Loaded loaded;
  loaded.tables = std::make_shared<std::string>(imported->tables);
  loaded.tokenizer = *Tokenizer::open(*loaded.tables);
  return loaded;
}

Ids encodeMerges(std::string_view name, const std::string &text,
                 const std::string &config = "{}") {
  MergesText files;
  files.config = config;
  return loadMerges(name, files)->encode(text)->ids;
}

std::string getMergesError(const MergesText &files) {
  auto imported = importMerges("BartTokenizer", files);
  EXPECT_FALSE(imported);
  if (imported)
    return "";
  EXPECT_EQ(imported.error().status, Status::Rejected);
  return imported.error().message;
}

TEST(ImportMerges, Classes) {
  for (const char *name :
       {"BartTokenizer", "BlenderbotTokenizer", "DebertaTokenizer",
        "GPT2Tokenizer", "Qwen2Tokenizer", "RobertaTokenizer"})
    EXPECT_TRUE(isMergesClass(name)) << name;
  EXPECT_FALSE(isMergesClass("CLIPTokenizer"));
  EXPECT_EQ(encodeMerges("BartTokenizer", "ab ab"), (Ids{0, 7, 8, 2}));
  EXPECT_EQ(encodeMerges("RobertaTokenizer", "ab<mask>b"),
            (Ids{0, 7, 10, 5, 2}));
  EXPECT_EQ(encodeMerges("BlenderbotTokenizer", "ab"), Ids{8});
  EXPECT_EQ(encodeMerges("GPT2Tokenizer", "ab<|endoftext|>"), (Ids{7, 9}));
  EXPECT_EQ(encodeMerges("DebertaTokenizer", "ab [MASK]",
                         R"({"cls_token": "<s>", "sep_token": "</s>"})"),
            (Ids{0, 7, 6, 15, 2}));
  EXPECT_EQ(encodeMerges("Qwen2Tokenizer", "ab b"), (Ids{7, 6, 5}));
}

TEST(ImportMerges, TokensOfTheClassThatMeetAnId) {
  // As in transformers, the token's id is the token count.
  MergesText files;
  files.vocabulary = R"({"a": 0, "b": 1, "ab": 3})";
  files.merges = "a b\n";
  auto imported = importMerges("GPT2Tokenizer", files);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->notes,
            std::vector<std::string>{
                "added token '<|endoftext|>' gets id 3, which is "
                "that of token 'ab'"});
  EXPECT_EQ(loadMerges("GPT2Tokenizer", files)->encode("ab<|endoftext|>b")->ids,
            (Ids{3, 3, 1}));
  // An entry for it in added_tokens_decoder is an error.
  files.config = R"({"added_tokens_decoder": {"3": {"content": "<end>"}}})";
  auto wrong = importMerges("GPT2Tokenizer", files);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, Status::Rejected);
}

TEST(ImportMerges, Settings) {
  EXPECT_EQ(encodeMerges("BartTokenizer", "ab",
                         R"({"add_prefix_space": true, "cls_token": "<pad>"})"),
            (Ids{1, 8, 2}));
  EXPECT_EQ(
      encodeMerges("BlenderbotTokenizer", "ab",
                   R"({"add_prefix_space": false, "add_eos_token": true})"),
      (Ids{7, 2}));
  EXPECT_EQ(encodeMerges("GPT2Tokenizer", "ab",
                         R"({"add_bos_token": true, "bos_token": "</s>"})"),
            (Ids{2, 7}));
}

TEST(ImportMerges, PairsAndTexts) {
  Loaded roberta = loadMerges("RobertaTokenizer");
  EXPECT_EQ(roberta->encode("ab", std::string_view("b"), {})->ids,
            (Ids{0, 7, 2, 2, 5, 2}));
  EXPECT_EQ(*roberta->decode({0, 7, 8, 2}), "ab ab");
}

TEST(ImportMerges, TokensThatTheVocabularyLacksGetTheNextIds) {
  MergesText files;
  files.vocabulary = R"({"a": 0, "b": 1, "ab": 2})";
  files.merges = "a b";
  EXPECT_EQ(loadMerges("RobertaTokenizer", files)->encode("ab")->ids,
            (Ids{3, 2, 4}));
}

TEST(ImportMerges, FurtherSpecialTokensAreThoseOfOneFile) {
  MergesText files;
  files.special = R"({"additional_special_tokens": ["<x>", "<y>"]})";
  EXPECT_EQ(loadMerges("GPT2Tokenizer", files)->encode("a<y>b<x>")->ids,
            (Ids{4, 12, 5, 11}));
  files.config = R"({"additional_special_tokens": ["<y>"]})";
  EXPECT_EQ(loadMerges("GPT2Tokenizer", files)->encode("a<y>b")->ids,
            (Ids{4, 11, 5}));
}

TEST(ImportMerges, AVersionLineAndLineEndsDoNotCount) {
  MergesText files;
  files.merges = "a b\r\n#version: 0.2\r\nĠ ab\r\n";
  EXPECT_EQ(loadMerges("GPT2Tokenizer", files)->encode(" ab")->ids, Ids{8});
  files.merges = "";
  EXPECT_EQ(loadMerges("GPT2Tokenizer", files)->encode("ab")->ids, (Ids{4, 5}));
}

//===-- Files that do not fit ---------------------------------------------===//

TEST(ImportMergesErrors, Merges) {
  MergesText files;
  auto with = [&](const std::string &merges) {
    files.merges = merges;
    return getMergesError(files);
  };
  EXPECT_EQ(with("#version: 0.2\na b\na c\n"),
            "merges.txt:3: token 'c' of a merge is not in the vocabulary");
  EXPECT_EQ(with("b a\n"),
            "merges.txt:1: token 'ba' of a merge is not in the vocabulary");
  const std::string rule =
      "expected a merge of two tokens with a space between them, got ";
  EXPECT_EQ(with("a b\n\nĠ ab\n"), "merges.txt:2: " + rule + "''");
  EXPECT_EQ(with("a b ab\n"), "merges.txt:1: " + rule + "'a b ab'");
  EXPECT_EQ(with("a\tb"), "merges.txt:1: " + rule + "'a\\tb'");
  EXPECT_EQ(with(" b"),
            "merges.txt:1: token '' of a merge is not in the vocabulary");
  EXPECT_NE(with(std::string("a \xff\0b", 5)).find("merges.txt:1: token '"),
            std::string::npos);
}

TEST(ImportMergesErrors, Vocabulary) {
  MergesText files;
  files.merges = "";
  auto with = [&](const std::string &vocabulary) {
    files.vocabulary = vocabulary;
    return getMergesError(files);
  };
  EXPECT_NE(with("[]").find("vocab.json:1:1: "), std::string::npos);
  EXPECT_NE(with("{\"a\": 0").find("vocab.json:1:"), std::string::npos);
  EXPECT_NE(with(R"({"a": 0, "b": 0})").find("id 0 is that of token 'a' too"),
            std::string::npos);
  EXPECT_NE(with(R"({"a": -1})").find("vocab.json:1:"), std::string::npos);
  EXPECT_NE(with(R"({"a": "0"})").find("vocab.json:1:"), std::string::npos);
  EXPECT_NE(with(R"({"a": 4294967296})").find("vocab.json:1:"),
            std::string::npos);
}

TEST(ImportMergesErrors, Settings) {
  MergesText files;
  files.config = R"({"add_prefix_space": 3})";
  EXPECT_EQ(getMergesError(files).find("tokenizer_config.json:1:"), 0u);
  files = {};
  files.added = R"({"plus": -4})";
  EXPECT_EQ(getMergesError(files).find("added_tokens.json:1:"), 0u);
}

/// Added tokens get the ids that the vocabulary does not use.
TEST(ImportMerges, AnIdThatContradictsTheVocabularyIsNoted) {
  MergesText files;
  files.added = R"({"plus": 4})";
  auto imported = importMerges("BartTokenizer", files);
  ASSERT_TRUE(imported) << imported.error().message;
  ASSERT_EQ(imported->notes.size(), 1u);
  EXPECT_NE(imported->notes[0].find("'plus'"), std::string::npos)
      << imported->notes[0];
}

} // namespace
} // namespace transom::test
