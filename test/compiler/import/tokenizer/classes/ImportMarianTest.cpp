// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marian folders: pieces and vocabulary, and those that contradict each other.
#include "compiler/import/tokenizer/classes/ImportMarian.h"
#include "test/compiler/import/tokenizer/SentencePieces.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

const char *const vocabulary =
    R"({"</s>": 0, "<unk>": 1, "▁a": 2, "b": 3, "▁": 4, "xy": 5, ">>de<<": 6, "<pad>": 7})";

std::string getPieces() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("\u2581a", -1) +
         piece("b", -2) + piece("\u2581", -3) + piece("c", -2.5f);
}

Result<ImportedTokenizer> importFolder(const std::string &pieces,
                                       const std::string &ids) {
  return importMarianTokenizer({{pieces, "source.spm"}, {ids, "vocab.json"}});
}

Ids encode(const std::string &text) {
  auto imported = importFolder(getPieces(), vocabulary);
  EXPECT_TRUE(imported) << imported.error().message;
  auto tokenizer = Tokenizer::open(imported->tables);
  EXPECT_TRUE(tokenizer) << tokenizer.error().message;
  return tokenizer->encode(text)->ids;
}

TEST(MarianImport, Ids) {
  EXPECT_EQ(encode("ab"), (Ids{2, 3, 0}));
  EXPECT_EQ(encode("  a   b "), (Ids{2, 4, 3, 0}));
  EXPECT_EQ(encode(""), Ids{0});
  EXPECT_EQ(encode(" \u2581 "), Ids{0});
}

TEST(MarianImport, UnknownPieces) {
  // 'c' is a piece without an id; unknown characters may form one token.
  EXPECT_EQ(encode("acc"), (Ids{2, 1, 1, 0}));
  EXPECT_EQ(encode("axyb"), (Ids{2, 5, 3, 0}));
  EXPECT_EQ(encode("axzb"), (Ids{2, 1, 3, 0}));
  EXPECT_EQ(encode("a<s>"), (Ids{2, 1, 0}));
  EXPECT_EQ(encode("a</s>a"), (Ids{2, 0, 2, 0}));
}

TEST(MarianImport, LanguageCodes) {
  EXPECT_EQ(encode(">>de<< a"), (Ids{6, 2, 0}));
  EXPECT_EQ(encode(">>de<<a"), (Ids{6, 2, 0}));
  EXPECT_EQ(encode(">>zz<<a"), (Ids{1, 2, 0}));
  // Elsewhere its characters are unknown, which together are a token here.
  EXPECT_EQ(encode("a>>de<<"), (Ids{2, 6, 0}));
  EXPECT_EQ(encode("a>>de<<x"), (Ids{2, 1, 0}));
  EXPECT_EQ(encode(">>b"), (Ids{4, 1, 3, 0}));
}

TEST(MarianImport, Texts) {
  auto imported = importFolder(getPieces(), vocabulary);
  auto tokenizer = Tokenizer::open(imported->tables);
  EXPECT_EQ(*tokenizer->decode({2, 4, 3, 0}, true), "a b");
  EXPECT_EQ(tokenizer->getId("b"), 3);
  EXPECT_EQ(tokenizer->getId("c"), std::nullopt);
  EXPECT_EQ(tokenizer->size(), 8u);
  EXPECT_EQ(tokenizer->idEnd(), 8u);
}

TEST(MarianImport, SpacesBeforePunctuation) {
  const std::string ids =
      R"({"</s>": 0, "<unk>": 1, "▁a": 2, "▁.": 3, "<pad>": 4})";
  for (bool cleansUp : {false, true}) {
    const std::string pieces = getPieces();
    MarianFiles files = {{pieces, "source.spm"}, {ids, "vocab.json"}};
    if (cleansUp)
      files.settings.config = {R"({"clean_up_tokenization_spaces": true})",
                               "tokenizer_config.json"};
    auto imported = importMarianTokenizer(files);
    ASSERT_TRUE(imported) << imported.error().message;
    auto tokenizer = Tokenizer::open(imported->tables);
    EXPECT_EQ(*tokenizer->decode({2, 3, 0}), cleansUp ? "a." : "a .");
  }
}

Error getFailure(const std::string &pieces, const std::string &ids) {
  auto imported = importFolder(pieces, ids);
  EXPECT_FALSE(imported);
  return imported ? Error() : imported.takeError();
}

void expectPiecesError(const std::string &pieces, Status status,
                       const std::string &message) {
  Error error = getFailure(pieces, vocabulary);
  EXPECT_EQ(error.status, status);
  EXPECT_EQ(error.message, "source.spm: " + message);
}

TEST(MarianImport, PiecesThatAreNotSupported) {
  const std::string start = "unsupported SentencePiece model with ";
  expectPiecesError(getPieces() + bytes(2, number(3, 3)), Status::Unsupported,
                    start + "a model that is neither Unigram nor BPE");
  expectPiecesError(getPieces() + bytes(2, number(35, 1)), Status::Unsupported,
                    start + "byte fallback");
  expectPiecesError(getPieces() + bytes(2, number(24, 1)), Status::Unsupported,
                    start + "spaces that belong to the word before them");
  expectPiecesError(getPieces() + bytes(3, number(5, 0)), Status::Unsupported,
                    start + "spaces that are not escaped");
  expectPiecesError(getPieces() + piece("sym", 0, 4), Status::Unsupported,
                    start + "the symbol 'sym' of its user");
}

TEST(MarianImport, Contradictions) {
  expectPiecesError(getPieces() + piece("b", -7), Status::Rejected,
                    "piece 'b' comes twice");
  expectPiecesError(getPieces() + piece("c", -7), Status::Rejected,
                    "piece 'c' comes twice");
  expectPiecesError(piece("other", -7), Status::Rejected,
                    "none of its pieces is in the vocabulary, such as 'other'");
  expectPiecesError(piece("<s>", 0, 3), Status::Rejected,
                    "none of its pieces is in the vocabulary");
  expectPiecesError(piece("b", -1.0f / 0.0f), Status::Rejected,
                    "piece 'b' has no finite score");
  expectPiecesError(getPieces() + bytes(3, bytes(2, "xy")), Status::Rejected,
                    "malformed character map: 2 bytes, expected at least 4");
  expectPiecesError("\x0a", Status::Rejected,
                    "malformed SentencePiece model at byte 1: cut short");
}

TEST(MarianImport, Vocabularies) {
  auto getMessage = [](const std::string &ids) {
    return getFailure(getPieces(), ids).message;
  };
  EXPECT_EQ(getMessage(R"({"</s>": 0, "b": 1, "<pad>": 2})"),
            "vocab.json:1:1: special token '<unk>' is not in the "
            "vocabulary");
  EXPECT_EQ(getMessage(R"({"</s>": 0, "b": 2})"),
            "vocab.json:1:18: '/b': id 2, but no token has id 1");
  EXPECT_EQ(getMessage(R"({"</s>": 0, "b": 0})"),
            "vocab.json:1:18: '/b': id 0 is that of token '</s>' too");
  EXPECT_NE(getMessage(R"({"</s>": 0, "b": -1})").find("vocab.json:1:18: '/b'"),
            std::string::npos);
  EXPECT_NE(
      getMessage(R"({"</s>": 0, "b": 1.5})").find("vocab.json:1:18: '/b'"),
      std::string::npos);
  EXPECT_EQ(getMessage("{}"), "vocab.json:1:1: a vocabulary without tokens");
  EXPECT_EQ(getMessage("[]"),
            "vocab.json:1:1: expected an object, got an array");
}

TEST(MarianImport, TheVocabularyOfTheModel) {
  auto import = [](const ModelVocabulary &model) {
    return importMarianTokenizer({{getPieces(), "source.spm"},
                                  {vocabulary, "vocab.json"},
                                  NamedFile{getPieces(), "target.spm"},
                                  NamedFile{vocabulary, "target_vocab.json"},
                                  model});
  };
  EXPECT_TRUE(import({8, 8}));
  auto wrong = import({7, 8});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, Status::Rejected);
  EXPECT_EQ(wrong.error().message,
            "vocab.json:1:85: '/<pad>': id 7 is not in the model's vocabulary "
            "of 7 tokens");
}

} // namespace
} // namespace transom::test
