// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are read from a folder.
#include "compiler/import/tokenizer/ImportFolder.h"
#include "compiler/import/tokenizer/ImportMerges.h"
#include "compiler/import/tokenizer/ImportPieces.h"
#include "compiler/import/tokenizer/ImportWordPiece.h"
#include "test/compiler/import/tokenizer/SentencePieces.h"
#include "test/runtime/base/TestSupport.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

std::string getFolderPieces() {
  return piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("<unk>", 0, 2) +
         piece("\u2581a", -1) + piece("b", -2);
}

const char *const folderVocabulary =
    R"({"</s>": 0, "<unk>": 1, "▁a": 2, "b": 3, "<pad>": 4})";

std::string joinNames(const std::vector<std::string> &names) {
  std::string all;
  for (const std::string &name : names)
    all += name + " ";
  return all;
}

/// The files that are read.
std::string getFiles(const TempFolder &folder) {
  auto read = importTokenizerFolder(folder.path());
  EXPECT_TRUE(read) << read.error().message;
  return *read ? joinNames((*read)->files) : "none";
}

TEST(ImportFolder, TheClassDecides) {
  TempFolder folder;
  EXPECT_EQ(getFiles(folder), "none");
  folder.write("spiece.model", getFolderPieces());
  EXPECT_EQ(getFiles(folder), "none");
  folder.write("config.json", R"({"model_type": "t5"})");
  EXPECT_EQ(getFiles(folder), "spiece.model ");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "PegasusTokenizerFast"})");
  EXPECT_EQ(getFiles(folder), "spiece.model tokenizer_config.json ");
  folder.write("tokenizer.json", smallJson());
  EXPECT_EQ(getFiles(folder), "tokenizer.json tokenizer_config.json ");
}

TEST(ImportFolder, ClassesThatAreNotSupported) {
  TempFolder folder;
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "XLNetTokenizer"})");
  EXPECT_EQ(getFiles(folder), "none");
  folder.write("spiece.model", getFolderPieces());
  auto read = importTokenizerFolder(folder.path());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().status, Status::Unsupported);
  EXPECT_EQ(read.error().message,
            "unsupported tokenizer class 'XLNetTokenizer' without "
            "tokenizer.json; supported: M2M100Tokenizer, MarianTokenizer, " +
                getPieceClassNames() + ", " + getMergesClassNames() + ", " +
                getWordPieceClassNames());
}

TEST(ImportFolder, MarianWithTwoVocabularies) {
  TempFolder folder;
  folder.write("source.spm", getFolderPieces());
  folder.write("vocab.json", folderVocabulary);
  auto withoutTarget = importTokenizerFolder(folder.path());
  ASSERT_FALSE(withoutTarget);
  EXPECT_EQ(withoutTarget.error().status, Status::Unavailable);
  EXPECT_NE(withoutTarget.error().message.find("target.spm"),
            std::string::npos);
  folder.write("target.spm", getFolderPieces() + piece("ab", -0.5f));
  EXPECT_EQ(getFiles(folder), "source.spm vocab.json target.spm ");
  folder.write("tokenizer_config.json", R"({"separate_vocabs": true})");
  EXPECT_EQ(importTokenizerFolder(folder.path()).error().status,
            Status::Unavailable);
  folder.write("target_vocab.json",
               R"({"</s>": 0, "<unk>": 1, "<pad>": 2, "b": 3, "▁a": 4})");
  EXPECT_EQ(getFiles(folder), "tokenizer_config.json source.spm vocab.json "
                              "target.spm target_vocab.json ");

  // Target language texts get its ids, and ids are decoded with it.
  auto read = importTokenizerFolder(folder.path());
  auto tokenizer = Tokenizer::open((*read)->tokenizer.tables);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(tokenizer->encode("ab")->ids, (Ids{2, 3, 0}));
  EXPECT_EQ(tokenizer->getTarget().encode("ab")->ids, (Ids{4, 3, 0}));
  EXPECT_EQ(*tokenizer->decode({4, 3, 0}), "ab");
}

TEST(ImportFolder, MergesNeedTheirVocabulary) {
  TempFolder folder;
  folder.write("config.json", R"({"model_type": "bart"})");
  folder.write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  EXPECT_EQ(getFiles(folder), "none");
  folder.write("merges.txt", "#version: 0.2\na b\n");
  EXPECT_EQ(getFiles(folder), "vocab.json merges.txt ");
  folder.write("special_tokens_map.json", "{}");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "GPT2TokenizerFast"})");
  EXPECT_EQ(getFiles(folder), "vocab.json merges.txt tokenizer_config.json "
                              "special_tokens_map.json ");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "CLIPTokenizer"})");
  EXPECT_EQ(importTokenizerFolder(folder.path()).error().status,
            Status::Unsupported);
}

TEST(ImportFolder, WordPieceByClassOrTypeOfModel) {
  TempFolder folder;
  folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n");
  EXPECT_EQ(getFiles(folder), "none");
  for (const char *type :
       {"bert", "distilbert", "electra", "mpnet", "nomic_bert"}) {
    folder.write("config.json",
                 R"({"model_type": ")" + std::string(type) + R"("})");
    EXPECT_EQ(getFiles(folder), "vocab.txt ") << type;
  }
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "DistilBertTokenizerFast"})");
  EXPECT_EQ(getFiles(folder), "vocab.txt tokenizer_config.json ");
  auto read = importTokenizerFolder(folder.path());
  EXPECT_EQ((*read)->maskToken, 3);
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "BertJapaneseTokenizer"})");
  EXPECT_EQ(importTokenizerFolder(folder.path()).error().status,
            Status::Unsupported);
}

TEST(ImportFolder, TokensThatFillQueriesUp) {
  TempFolder folder;
  folder.write("config.json", R"({"model_type": "bert"})");
  folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n[MASK]\n<m>\n");
  auto getToken = [&](const std::string &config) {
    folder.write("tokenizer_config.json", config);
    return (*importTokenizerFolder(folder.path()))->expansionToken;
  };
  EXPECT_EQ(getToken("{}"), "[MASK]");
  EXPECT_EQ(getToken(R"({"mask_token": "<m>", "eos_token": "[SEP]"})"), "<m>");
  EXPECT_EQ(getToken(R"({"mask_token": null, "eos_token": "[SEP]"})"), "[SEP]");
  EXPECT_EQ(getToken(R"({"mask_token": null})"), "");
}

TEST(ImportFolder, TypesAreThoseOfTheClass) {
  TempFolder folder;
  folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
  auto givesTypes = [&](const std::string &name) {
    folder.write("tokenizer_config.json",
                 R"({"tokenizer_class": ")" + name + R"("})");
    return (*importTokenizerFolder(folder.path()))->givesTypes;
  };
  EXPECT_TRUE(givesTypes("BertTokenizerFast"));
  EXPECT_TRUE(givesTypes("ElectraTokenizer"));
  EXPECT_FALSE(givesTypes("DistilBertTokenizer"));
  EXPECT_FALSE(givesTypes("MPNetTokenizerFast"));
}

TEST(ImportFolder, LengthsBeyond64BitsAreNotRead) {
  TempFolder folder;
  folder.write("spiece.model", getFolderPieces());
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "T5Tokenizer",
                   "model_max_length": 1000000000000000019884624838656})");
  EXPECT_EQ(getFiles(folder), "spiece.model tokenizer_config.json ");
  folder.write("tokenizer_config.json",
               R"({"tokenizer_class": "T5Tokenizer",
                   "extra_ids": 1000000000000000019884624838656})");
  auto read = importTokenizerFolder(folder.path());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().status, Status::Rejected);
  EXPECT_NE(read.error().message.find("'/extra_ids'"), std::string::npos)
      << read.error().message;
}

TEST(ImportFolder, ErrorsOfAFolderWithoutSettings) {
  TempFolder folder;
  folder.write("config.json", R"({"model_type": "t5"})");
  folder.write("spiece.model", piece("a", 0) + piece("a", 0));
  auto read = importTokenizerFolder(folder.path());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().status, Status::Rejected);
  EXPECT_EQ(read.error().message,
            folder.path() + "/spiece.model: piece 'a' comes twice");
}

TEST(ImportFolder, M2M100NeedsBothFiles) {
  TempFolder folder;
  folder.write("config.json", R"({"model_type": "m2m_100"})");
  folder.write("sentencepiece.bpe.model", getFolderPieces());
  EXPECT_EQ(getFiles(folder), "none");
  folder.write("vocab.json", folderVocabulary);
  EXPECT_EQ(getFiles(folder), "sentencepiece.bpe.model vocab.json ");
}

} // namespace
} // namespace transom::test
