// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// M2M100 folders: ids, languages, settings, and files that contradict each
// other.
#include "compiler/import/tokenizer/classes/ImportM2M100.h"
#include "test/compiler/import/tokenizer/SentencePieces.h"
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

using Ids = std::vector<int64_t>;

const char *const m2m100Vocabulary =
    R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "▁a": 4, "b": 5, "▁": 6, "xy": 7})";

std::string getM2M100Pieces() {
  return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("\u2581a", -1) +
         piece("b", -2) + piece("\u2581", -3) + piece("c", -2.5f) +
         piece("a", -6);
}

Result<ImportedTokenizer>
importM2M100(const std::string &config,
             const std::string &ids = m2m100Vocabulary,
             const std::string &pieces = getM2M100Pieces()) {
  return importM2M100Tokenizer(
      {{pieces, "p.model"},
       {ids, "vocab.json"},
       {NamedFile{config, "tokenizer_config.json"}, {}, {}}});
}

Loaded loadM2M100(const std::string &config,
                  const std::string &pieces = getM2M100Pieces()) {
  auto imported = importM2M100(config, m2m100Vocabulary, pieces);
  EXPECT_TRUE(imported) << imported.error().message;
  Loaded loaded;
  loaded.tables = std::make_shared<std::string>(imported->tables);
  loaded.tokenizer = *Tokenizer::open(*loaded.tables);
  return loaded;
}

TEST(M2M100Import, Languages) {
  Loaded loaded = loadM2M100("{}");
  EXPECT_EQ(loaded->getLanguages().size(), 100u);
  EXPECT_EQ(*loaded->findLanguage("af"), 8);
  EXPECT_EQ(*loaded->findLanguage("zu"), 107);
  EXPECT_EQ(loaded->idEnd(), 108u);
  EXPECT_EQ(loaded->encode("ab")->ids,
            (Ids{*loaded->findLanguage("en"), 4, 5, 2}));
  EXPECT_EQ(loadM2M100(R"({"src_lang": "af"})")->encode("a")->ids,
            (Ids{8, 4, 2}));
  loaded = loadM2M100(R"({"language_codes": "wmt21", "src_lang": "ha"})");
  EXPECT_EQ(loaded->encode("a")->ids, (Ids{9, 4, 2}));
  // A language is a token in texts only if the settings name it.
  EXPECT_EQ(loaded->encode("__de__", {false, 0})->ids, (Ids{6, 15}));
  loaded = loadM2M100(
      R"({"language_codes": "wmt21", "extra_special_tokens": ["__cs__", "<n>"]})");
  EXPECT_EQ(loaded->encode("__cs__a<n>", {false, 0})->ids, (Ids{12, 4, 16}));
  EXPECT_EQ(*loaded->decode({12, 4, 16}), "a");
}

TEST(M2M100Import, UnknownPieces) {
  Loaded loaded = loadM2M100("{}");
  EXPECT_EQ(loaded->encode("acb xyz", {false, 0})->ids, (Ids{4, 3, 5, 6, 3}));
  EXPECT_EQ(loaded->encode("xy", {false, 0})->ids, (Ids{6, 7}));
}

TEST(M2M100Import, BytePairPieces) {
  const std::string pairs = piece("<unk>", 0, 2) + piece("\u2581a", -0.5f) +
                            piece("bb", -1) + piece("bbb", -2) +
                            piece("\u2581", -3) + piece("a", -4) +
                            piece("b", -5) + bytes(2, number(3, 2));
  Loaded loaded = loadM2M100("{}", pairs);
  // 'bb' and 'bbb' are pieces without ids.
  EXPECT_EQ(loaded->encode("ab", {false, 0})->ids, (Ids{4, 5}));
  EXPECT_EQ(loaded->encode("abbb", {false, 0})->ids, (Ids{4, 3}));
  EXPECT_EQ(loaded->encode("abbbb", {false, 0})->ids, (Ids{4, 3, 3}));
  auto twice = importM2M100("{}", m2m100Vocabulary, pairs + piece("ab", -5));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().status, Status::Unsupported);
}

TEST(M2M100Import, SpacesBeforePunctuation) {
  // Also for a BPE: the class is not in `tokenizers`.
  const std::string settings = R"({"clean_up_tokenization_spaces": true})";
  const std::string ids =
      R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "▁a": 4, "▁.": 5})";
  const std::string pairs = piece("<unk>", 0, 2) + piece("\u2581a", -0.5f) +
                            piece("\u2581", -3) + piece("a", -4) +
                            bytes(2, number(3, 2));
  for (const std::string &pieces : {getM2M100Pieces(), pairs})
    for (bool cleansUp : {false, true}) {
      auto imported = importM2M100(cleansUp ? settings : "{}", ids, pieces);
      ASSERT_TRUE(imported) << imported.error().message;
      auto tokenizer = Tokenizer::open(imported->tables);
      EXPECT_EQ(*tokenizer->decode({4, 5}), cleansUp ? "a." : "a .");
    }
}

TEST(M2M100Import, Contradictions) {
  auto getMessage = [](Result<ImportedTokenizer> imported) {
    EXPECT_FALSE(imported);
    return imported ? "" : imported.error().message;
  };
  EXPECT_EQ(getMessage(importM2M100(R"({"src_lang": "xx"})")),
            "source language 'xx' is not one of the tokenizer's");
  EXPECT_EQ(getMessage(importM2M100(R"({"language_codes": "all"})")),
            "unsupported language codes 'all'; supported: m2m100, wmt21");
  EXPECT_EQ(getMessage(importM2M100("{}", R"({"</s>": 0, "b": 1})")),
            "vocab.json:1:1: special token '<unk>' is not in the vocabulary");
  EXPECT_EQ(getMessage(importM2M100("{}", m2m100Vocabulary, piece("q", -1))),
            "p.model: none of its pieces is in the vocabulary, such as 'q'");
}

} // namespace
} // namespace transom::test
