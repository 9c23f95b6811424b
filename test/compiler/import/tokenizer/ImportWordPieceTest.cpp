// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders with vocab.txt: the classes, settings, and files that do not fit.
// test/goldens/tokenizer/folders has folders from trained models.
#include "compiler/import/tokenizer/ImportWordPiece.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

const char *const smallLines = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nA\n"
                               "##b\né\ne\n<s>\n</s>\n中\n";

Result<ImportedTokenizer> importWords(std::string_view name,
                                      const std::string &lines,
                                      const std::string &config) {
  tokenizer::SettingFiles settings;
  settings.config = NamedFile{config, "tokenizer_config.json"};
  return importWordPieceTokenizer(name, {{lines, "vocab.txt"}, settings});
}

Loaded loadWords(std::string_view name, const std::string &config = "{}",
                 const std::string &lines = smallLines) {
  auto imported = importWords(name, lines, config);
  EXPECT_TRUE(imported) << imported.error().message;
  Loaded loaded;
  loaded.tables = std::make_shared<std::string>(imported->tables);
  loaded.tokenizer = *Tokenizer::open(*loaded.tables);
  return loaded;
}

Ids encodeWords(std::string_view name, const std::string &text,
                const std::string &config = "{}",
                const std::string &lines = smallLines) {
  return loadWords(name, config, lines)->encode(text)->ids;
}

std::string getWordsError(const std::string &lines,
                          const std::string &config = "{}") {
  auto imported = importWords("BertTokenizer", lines, config);
  EXPECT_FALSE(imported);
  if (imported)
    return "";
  EXPECT_EQ(imported.error().status, Status::Rejected);
  return imported.error().message;
}

TEST(ImportWordPiece, Classes) {
  for (const char *name :
       {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"}) {
    EXPECT_TRUE(isWordPieceClass(name)) << name;
    EXPECT_EQ(encodeWords(name, "Ab q"), (Ids{2, 5, 7, 1, 3})) << name;
  }
  EXPECT_FALSE(isWordPieceClass("BertJapaneseTokenizer"));
  EXPECT_EQ(encodeWords("MPNetTokenizer", "a <mask>b"),
            (Ids{10, 5, 14, 1, 11}));
}

TEST(ImportWordPiece, PairsHaveTypes) {
  auto pair =
      loadWords("BertTokenizer")->encode("a", std::string_view("e"), {});
  EXPECT_EQ(pair->ids, (Ids{2, 5, 3, 9, 3}));
  EXPECT_EQ(pair->typeIds, (Ids{0, 0, 0, 1, 1}));
  pair = loadWords("MPNetTokenizer")->encode("a", std::string_view("e"), {});
  EXPECT_EQ(pair->ids, (Ids{10, 5, 11, 11, 9, 11}));
  EXPECT_EQ(pair->typeIds, Ids(6, 0));
}

TEST(ImportWordPiece, Settings) {
  const char *const name = "BertTokenizer";
  EXPECT_EQ(encodeWords(name, "A É"), (Ids{2, 5, 9, 3}));
  EXPECT_EQ(encodeWords(name, "A é", R"({"do_lower_case": false})"),
            (Ids{2, 6, 8, 3}));
  EXPECT_EQ(encodeWords(name, "A É", R"({"strip_accents": false})"),
            (Ids{2, 5, 8, 3}));
  EXPECT_EQ(encodeWords(name, "A é",
                        R"({"do_lower_case": false, "strip_accents": true})"),
            (Ids{2, 6, 9, 3}));
  EXPECT_EQ(encodeWords(name, "a中"), (Ids{2, 5, 12, 3}));
  EXPECT_EQ(encodeWords(name, "a中", R"({"tokenize_chinese_chars": false})"),
            (Ids{2, 1, 3}));
  EXPECT_EQ(encodeWords(name, "q<n>",
                        R"({"cls_token": "<s>", "sep_token": "<n>",
                            "unk_token": "[PAD]"})"),
            (Ids{10, 0, 13, 13}));
  EXPECT_EQ(encodeWords(name, "a<n>",
                        R"({"additional_special_tokens": ["<m>", "<n>"]})"),
            (Ids{2, 5, 14, 3}));
}

TEST(ImportWordPiece, TruncationSide) {
  EncodeOptions options;
  options.maxLength = 3;
  const char *const name = "BertTokenizer";
  EXPECT_EQ(loadWords(name)->encode("a e", options)->ids, (Ids{2, 5, 3}));
  EXPECT_EQ(loadWords(name, R"({"truncation_side": "left"})")
                ->encode("a e", options)
                ->ids,
            (Ids{2, 9, 3}));
  EXPECT_EQ(getWordsError(smallLines, R"({"truncation_side": "both"})"),
            "tokenizer_config.json:1:21: '/truncation_side': unknown "
            "truncation_side 'both'; supported: left, right");
}

TEST(ImportWordPiece, LinesAreTrimmedAndTheLastOfATokenCounts) {
  const std::string lines =
      "[UNK]  \r\n[CLS]\u3000\n[SEP]\n\na\n[PAD]\n[MASK]\na";
  EXPECT_EQ(encodeWords("BertTokenizer", "a q", "{}", lines),
            (Ids{1, 7, 0, 2}));
}

TEST(ImportWordPieceErrors, Vocabulary) {
  EXPECT_EQ(getWordsError("[CLS]\na\n"),
            "vocab.txt: unknown token '[UNK]' is not in the vocabulary");
  EXPECT_EQ(getWordsError(""),
            "vocab.txt: unknown token '[UNK]' is not in the vocabulary");
  EXPECT_EQ(getWordsError("[UNK]\na\xff\n"),
            "vocab.txt:2: expected UTF-8, got 'a\\xff'");
}

TEST(ImportWordPieceErrors, SettingsNameTheirFile) {
  EXPECT_EQ(
      getWordsError(smallLines, R"({"do_lower_case": "yes"})")
          .rfind("tokenizer_config.json:1:19: '/do_lower_case': expected", 0),
      0u);
}

} // namespace
} // namespace transom::test
