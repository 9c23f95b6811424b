// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders with a SentencePiece model: languages, and files that do not fit.
#include "compiler/import/tokenizer/ImportPieces.h"
#include "test/compiler/import/tokenizer/SentencePieces.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

std::string getSmallPieces() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) +
         piece("\u2581", -3) + piece("a", -2) + piece("b", -2) +
         piece("\u2581a", -1) + piece("\u2581ab", -4);
}

Result<ImportedTokenizer> importPieces(std::string_view name,
                                       const std::string &pieces,
                                       const std::string &config) {
  return importPieceTokenizer(
      name, {{pieces, "p.model"},
             {NamedFile{config, "tokenizer_config.json"}, {}, {}}});
}

/// Loads a tokenizer from the small pieces.
Loaded loadPieces(std::string_view name, const std::string &config = "{}") {
  auto imported = importPieces(name, getSmallPieces(), config);
  EXPECT_TRUE(imported) << imported.error().message;
  Loaded loaded;
  loaded.tables = std::make_shared<std::string>(imported->tables);
  loaded.tokenizer = *Tokenizer::open(*loaded.tables);
  return loaded;
}

Ids encodePieces(std::string_view name, const std::string &text,
                 const std::string &config = "{}") {
  return loadPieces(name, config)->encode(text)->ids;
}

TEST(ImportPieces, Vocabularies) {
  EXPECT_EQ(encodePieces("T5Tokenizer", "ab a", R"({"extra_ids": 2})"),
            (Ids{6, 5, 6, 2}));
  EXPECT_EQ(encodePieces("XLMRobertaTokenizer", "ab z"),
            (Ids{0, 7, 6, 4, 3, 2}));
  EXPECT_EQ(encodePieces("LlamaTokenizer", "ab a"), (Ids{7, 6}));
  EXPECT_EQ(encodePieces("LlamaTokenizer", "ab",
                         R"({"add_bos_token": true, "add_eos_token": true})"),
            (Ids{1, 7, 2}));
}

TEST(ImportPieces, Encoders) {
  EXPECT_EQ(encodePieces("CamembertTokenizer", "ab z"),
            (Ids{5, 10, 9, 7, 3, 6}));
  EXPECT_EQ(encodePieces("DebertaV2Tokenizer", "ab z  a\n"),
            (Ids{8, 6, 5, 3, 0, 6, 9}));
  const std::string roles = R"("cls_token": "<s>", "sep_token": "</s>")";
  EXPECT_EQ(encodePieces("AlbertTokenizer", "\u00c1B", "{" + roles + "}"),
            (Ids{1, 6, 5, 2}));
  EXPECT_EQ(encodePieces("AlbertTokenizer", "aB",
                         "{" + roles + R"(, "do_lower_case": false})"),
            (Ids{1, 6, 1, 2}));
  auto without = importPieces("AlbertTokenizer", getSmallPieces(), "{}");
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().status, Status::Rejected);
  EXPECT_EQ(without.error().message, "p.model: token '[CLS]' is no piece");
}

TEST(ImportPieces, LegacyPutsASpaceAfterEachAddedToken) {
  EXPECT_EQ(encodePieces("LlamaTokenizer", "ab</s>ab"), (Ids{7, 2, 4, 5}));
  EXPECT_EQ(encodePieces("LlamaTokenizer", "ab</s>ab", R"({"legacy": true})"),
            (Ids{7, 2, 7}));
}

TEST(ImportPieces, SourceLanguages) {
  Loaded mbart = loadPieces("MBartTokenizer");
  EXPECT_EQ(mbart->getLanguages().size(), 25u);
  const int64_t french = *mbart->findLanguage("fr_XX");
  EXPECT_EQ(french, 16);
  EXPECT_EQ(mbart->encode("a")->ids, (Ids{7, 2, 12}));
  EncodeOptions options;
  options.language = french;
  EXPECT_EQ(mbart->encode("a", options)->ids, (Ids{7, 2, 16}));
  options.addSpecial = false;
  EXPECT_EQ(mbart->encode("a", options)->ids, Ids{7});
  // The settings may name other special tokens.
  Loaded other = loadPieces("MBart50Tokenizer",
                            R"({"additional_special_tokens": ["<x>"]})");
  EXPECT_EQ(other->getLanguages().size(), 52u);
  options.language = *other->findLanguage("fr_XX");
  options.addSpecial = true;
  EXPECT_EQ(other->encode("a", options)->ids, (Ids{16, 7, 2}));
  // NLLB's come from its settings.
  Loaded nllb = loadPieces(
      "NllbTokenizer",
      R"({"src_lang": "fra_Latn", "extra_special_tokens": ["eng_Latn", "fra_Latn"]})");
  EXPECT_EQ(nllb->encode("ab")->ids, (Ids{11, 8, 2}));
  EXPECT_EQ(*nllb->findLanguage("eng_Latn"), 10);
}

TEST(ImportPieces, UnknownLanguages) {
  auto getMessage = [](const Loaded &loaded, const char *name) {
    auto found = loaded->findLanguage(name);
    EXPECT_FALSE(found);
    return found ? "" : found.error().message;
  };
  Loaded nllb = loadPieces(
      "NllbTokenizer", R"({"extra_special_tokens": ["eng_Latn", "fra_Latn"]})");
  EXPECT_EQ(getMessage(nllb, "fra"),
            "unknown language 'fra'; did you mean "
            "'fra_Latn'? supported: eng_Latn, fra_Latn");
  EXPECT_EQ(getMessage(nllb, "eng_Lat"),
            "unknown language 'eng_Lat'; did you mean 'eng_Latn'? supported: "
            "eng_Latn, fra_Latn");
  EXPECT_EQ(getMessage(nllb, ""),
            "unknown language ''; supported: eng_Latn, fra_Latn");
  EXPECT_EQ(getMessage(loadPieces("T5Tokenizer"), "en"),
            "the tokenizer has no languages");
}

TEST(ImportPieces, FilesThatDoNotFit) {
  // Returns the message for a rejected file.
  auto getFailure = [](std::string_view name, const std::string &pieces,
                       const std::string &config = "{}") {
    auto imported = importPieces(name, pieces, config);
    EXPECT_FALSE(imported);
    Error error = imported ? Error() : imported.takeError();
    EXPECT_EQ(error.status, Status::Rejected);
    return error.message;
  };
  // Files that are invalid or lack pieces that the class requires.
  EXPECT_EQ(getFailure("T5Tokenizer", "\x0a"),
            "p.model: malformed SentencePiece model at byte 1: cut short");
  EXPECT_EQ(getFailure("LlamaTokenizer", ""),
            "p.model: malformed SentencePiece model: no pieces");
  EXPECT_EQ(getFailure("T5Tokenizer", getSmallPieces() + piece("a", -7)),
            "p.model: piece 'a' comes twice");
  EXPECT_EQ(
      getFailure("T5Tokenizer", getSmallPieces() + piece("c", 0.0f / 0.0f)),
      "p.model: piece 'c' has no finite score");
  EXPECT_EQ(getFailure("T5Tokenizer", piece("a", -1), R"({"extra_ids": 0})"),
            "p.model: unknown token 2 is not in the vocabulary of 1 tokens");
  EXPECT_EQ(getFailure("PegasusTokenizer", getSmallPieces(),
                       R"({"unk_token": "<none>", "offset": 2})"),
            "p.model: unknown token 10 is not in the vocabulary of 10 tokens");
  EXPECT_EQ(
      getFailure("NllbTokenizer", getSmallPieces(), R"({"pad_token": "</s>"})"),
      "p.model: token '</s>' has two roles");
  EXPECT_EQ(
      getFailure("T5Tokenizer", getSmallPieces(), R"({"extra_ids": -1})"),
      "tokenizer_config.json:1:15: '/extra_ids': expected an integer from "
      "0 to 1048576, got -1");
  EXPECT_EQ(
      getFailure("LlamaTokenizer", getSmallPieces(), R"({"legacy": "x"})"),
      "tokenizer_config.json:1:12: '/legacy': expected a boolean, got "
      "a string");
}

/// A file truncated anywhere or with a changed byte is rejected or becomes a
/// tokenizer.
TEST(ImportPieces, ChangedFiles) {
  const std::string pieces =
      getSmallPieces() + bytes(3, bytes(2, makeCharacterMap({{"x", "a"}})));
  for (const char *name : {"LlamaTokenizer", "MBart50Tokenizer",
                           "NllbTokenizer", "PegasusTokenizer", "T5Tokenizer"})
    for (size_t i = 0; i < pieces.size(); i += 17) {
      std::string changed = pieces;
      changed[i] = static_cast<char>(changed[i] ^ 0x85);
      for (const std::string &file : {changed, pieces.substr(0, i)}) {
        auto imported = importPieces(name, file, "{}");
        if (!imported)
          continue;
        auto tokenizer = Tokenizer::open(imported->tables);
        ASSERT_TRUE(tokenizer) << tokenizer.error().message;
        EXPECT_TRUE(tokenizer->encode("ab x\u00e9 </s>"));
      }
    }
}

TEST(ImportPieces, Classes) {
  EXPECT_STREQ(getPieceFileName("LlamaTokenizer"), "tokenizer.model");
  EXPECT_EQ(getPieceFileName("BertTokenizer"), nullptr);
  EXPECT_EQ(getPieceClassNames(),
            "AlbertTokenizer, CamembertTokenizer, DebertaV2Tokenizer, "
            "LlamaTokenizer, MBart50Tokenizer, MBartTokenizer, NllbTokenizer, "
            "PegasusTokenizer, T5Tokenizer, XLMRobertaTokenizer");
}

} // namespace
} // namespace transom::test
