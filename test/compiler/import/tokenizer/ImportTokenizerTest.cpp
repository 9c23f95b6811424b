// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json files that are unusual, unsupported or wrong: each error names
// file, line, column and JSON pointer.
#include "test/runtime/tokenizer/Fixture.h"

namespace transom::test {
namespace {

/// The error for the small tokenizer with one text replaced.
Error getError(const std::string &from, const std::string &to) {
  TRANSOM_ASSIGN(
      auto imported,
      importTokenizer(replaceOnce(smallJson(), from, to), "tokenizer.json"));
  ADD_FAILURE() << "accepted: " << to;
  return {};
}

void expectError(const std::string &from, const std::string &to, Status status,
                 const std::string &message) {
  SCOPED_TRACE(to);
  Error error = getError(from, to);
  EXPECT_EQ(error.status, status);
  EXPECT_EQ(error.message, "tokenizer.json:" + message);
}

TEST(TokenizerImport, UnsupportedTypesAreNamed) {
  expectError(R"("type": "WordPiece", "unk)", R"("type": "Unigram", "unk)",
              Status::Unsupported,
              "13:10: '/model': unsupported tokenizer model 'Unigram'; "
              "supported: BPE, WordPiece");
  const std::string preTokenizers =
      "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, "
      "Punctuation, Sequence, Split, Whitespace, WhitespaceSplit";
  expectError(R"({"type": "BertPreTokenizer"})",
              R"({"type": "UnicodeScripts"})", Status::Unsupported,
              "7:18: '/pre_tokenizer': unsupported pre-tokenizer "
              "'UnicodeScripts'; supported: " +
                  preTokenizers);
  expectError(
      R"({"type": "BertPreTokenizer"})",
      R"({"type": "Sequence", "pretokenizers": [{"type": "FixedLength"}]})",
      Status::Unsupported,
      "7:57: '/pre_tokenizer/pretokenizers/0': unsupported pre-tokenizer "
      "'FixedLength'; supported: " +
          preTokenizers);
  expectError(R"("type": "BertNormalizer")", R"("type": "Precompiled")",
              Status::Unsupported,
              "6:15: '/normalizer': unsupported normalizer 'Precompiled'; "
              "supported: BertNormalizer, Lowercase, NFC, NFD, Prepend, "
              "Replace, Sequence, Strip, StripAccents");
  expectError(R"("type": "TemplateProcessing")", R"("type": "Custom")",
              Status::Unsupported,
              "8:19: '/post_processor': unsupported post-processor 'Custom'; "
              "supported: BertProcessing, ByteLevel, RobertaProcessing, "
              "Sequence, TemplateProcessing");
  expectError(R"("version": "1.0")", R"("version": "2.0")", Status::Unsupported,
              "1:13: '/version': unsupported tokenizer version '2.0'; "
              "supported: 1.0");
}

TEST(TokenizerImport, VocabularyRules) {
  expectError(R"("a": 5)", R"("a": 2147483648)", Status::Rejected,
              "14:75: '/model/vocab/a': expected an integer from 0 to "
              "2147483647, got 2147483648");
  expectError(R"("a": 5)", R"("a": 4)", Status::Rejected,
              "14:75: '/model/vocab/a': id 4 is that of token '##able' too");
  expectError(R"("unk_token": "[UNK]")", R"("unk_token": "<unk>")",
              Status::Rejected,
              "13:45: '/model/unk_token': unknown token '<unk>' is not in the "
              "vocabulary");
  EXPECT_EQ(getError(R"("a": 5)", R"("a": -1)").status, Status::Rejected);
  EXPECT_EQ(getError(R"("a": 5)", R"("a": 5.0)").status, Status::Rejected);
  EXPECT_EQ(getError(R"("a": 5)", R"("a": "5")").status, Status::Rejected);
  EXPECT_EQ(getError(R"("a": 5)", R"("the": 5)").status, Status::Rejected);
}

TEST(TokenizerImport, HolesInTheVocabulary) {
  Loaded loaded = load(replaceOnce(
      replaceOnce(smallJson(), R"("the": 8)", R"("the": 2147483647)"),
      R"("id": 9)", R"("id": 77)"));
  EXPECT_EQ(loaded->encode("the", {false, 0})->ids,
            std::vector<int64_t>{2147483647});
  EXPECT_EQ(loaded->token(2147483647), "the");
  EXPECT_EQ(loaded->token(8), std::nullopt);
  EXPECT_EQ(loaded->token(2147483646), std::nullopt);
  EXPECT_EQ(loaded->size(), 10u);
  EXPECT_EQ(loaded->idEnd(), 2147483648u);
  // The library continues after the number of tokens, whatever the file says.
  EXPECT_EQ(loaded->getId("New"), 9);
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_EQ(loaded.notes[0],
            "tokenizer.json:5:2: '/added_tokens/1': added token 'New' has id "
            "9, not 77, as the tokenizers library counts");
}

TEST(TokenizerImport, AddedTokenRules) {
  expectError(R"("the": 8)", R"("the": 9)", Status::Rejected,
              "5:2: '/added_tokens/1': added token 'New' gets id 9, which is "
              "that of token 'the'");
  expectError(R"("content": "New")", "\"content\": \"\u0301\"",
              Status::Rejected,
              "5:2: '/added_tokens/1': nothing is left of added token "
              "'\u0301' when it is normalized");
  EXPECT_EQ(getError(R"("id": 9)", R"("id": 2147483648)").status,
            Status::Rejected);
  EXPECT_EQ(getError(R"("id": 9, )", "").status, Status::Rejected);
}

TEST(TokenizerImport, AddedTokensThatNormalizeAlike) {
  Loaded loaded = load(replaceOnce(
      smallJson(), R"("added_tokens": [)",
      R"("added_tokens": [{"id": 9, "content": "NEW", "single_word": false, "lstrip": false,
 "rstrip": false, "normalized": true, "special": false},)"));
  EXPECT_EQ(loaded->encode("new New", {false, 0})->ids,
            (std::vector<int64_t>{9, 9}));
  EXPECT_EQ(loaded->getId("New"), 10);
  ASSERT_EQ(loaded.notes.size(), 2u);
  EXPECT_EQ(loaded.notes[1],
            "tokenizer.json:6:2: '/added_tokens/2': added token 'New' is the "
            "same as 'NEW' when it is normalized, and is never found in text");
}

TEST(TokenizerImport, AddedTokensThatComeTwiceAreShownNormalized) {
  const std::string twice =
      R"("added_tokens": [{"id": 9, "content": "NEW", "single_word": false, "lstrip": false,
 "rstrip": false, "normalized": true, "special": true}, {"id": 9, "content": "NEW", "single_word": false,
 "lstrip": false, "rstrip": false, "normalized": false, "special": true},)";
  Loaded loaded = load(replaceOnce(smallJson(), R"("added_tokens": [)", twice));
  // The last definition is found, and the first one's form is shown.
  EXPECT_EQ(loaded->encode("NEW nEW", {false, 0})->ids,
            (std::vector<int64_t>{9, 10}));
  EXPECT_EQ(loaded->token(9), "new");
  EXPECT_FALSE(loaded->isSpecial(9));
}

TEST(TokenizerImport, EmptyPatternsAreNamed) {
  expectError(R"({"type": "BertPreTokenizer"})",
              R"({"type": "Split", "pattern": {"String": ""},
 "behavior": "Removed", "invert": true})",
              Status::Unsupported,
              "7:58: '/pre_tokenizer/pattern/String': unsupported empty "
              "pattern");
}

TEST(TokenizerImport, TemplateRules) {
  expectError(R"("special_tokens": {"[CLS]")", R"("special_tokens": {"[SEP]")",
              Status::Rejected,
              "9:30: '/post_processor/single/0/SpecialToken': special token "
              "'[CLS]' is not among 'special_tokens'");
  expectError(R"({"Sequence": {"id": "A", "type_id": 0}}],
 "pair")",
              R"({"Sequence": {"id": "B", "type_id": 0}}],
 "pair")",
              Status::Rejected,
              "9:75: '/post_processor/single/1/Sequence': sequence 'B' in the "
              "template of a single text");
  EXPECT_EQ(getError(R"({"Sequence": {"id": "B", "type_id": 1}})",
                     R"({"Sequence": {"id": "C", "type_id": 1}})")
                .status,
            Status::Rejected);
  EXPECT_EQ(getError(R"({"Sequence": {"id": "B", "type_id": 1}})", "7").status,
            Status::Rejected);
  EXPECT_EQ(getError(R"("ids": [1])", R"("ids": [-1])").status,
            Status::Rejected);
}

TEST(TokenizerImport, TruncationRules) {
  auto with = [](const std::string &text) {
    return "\"truncation\": {" + text + "}";
  };
  const std::string none = "\"truncation\": null";
  EXPECT_EQ(getError(none, with("\"max_length\": 0")).status, Status::Rejected);
  EXPECT_EQ(getError(none, with("\"max_length\": -1")).status,
            Status::Rejected);
  expectError(none, with(R"("max_length": 9, "strategy": "Longest")"),
              Status::Rejected,
              "2:45: '/truncation/strategy': unknown strategy 'Longest'; "
              "supported: LongestFirst, OnlyFirst, OnlySecond");
  Loaded loaded = load(replaceOnce(
      smallJson(), none,
      with(R"("max_length": 18446744073709551615, "strategy": "OnlyFirst")")));
  EXPECT_EQ(loaded->truncation(), 4294967295u);
}

TEST(TokenizerImport, MissingAndMistypedParts) {
  for (const char *key :
       {"clean_text", "lowercase", "continuing_subword_prefix",
        "max_input_chars_per_word", "unk_token", "vocab", "pair", "single",
        "special_tokens", "cleanup"}) {
    Error error = getError("\"" + std::string(key) + "\":", "\"other\":");
    EXPECT_EQ(error.status, Status::Rejected) << key;
    EXPECT_NE(error.message.find("missing key '" + std::string(key) + "'"),
              std::string::npos)
        << error.message;
  }
  EXPECT_EQ(getError("\"model\":", "\"other\":").message,
            "tokenizer.json:1:1: missing key 'model'");
  EXPECT_EQ(getError("\"lowercase\": true", "\"lowercase\": 1").message,
            "tokenizer.json:6:128: '/normalizer/lowercase': expected a "
            "boolean, got an integer");
  EXPECT_FALSE(importTokenizer("[]", "tokenizer.json"));
  EXPECT_FALSE(importTokenizer("", "tokenizer.json"));
}

TEST(TokenizerImport, CutShortAnywhereIsAnError) {
  std::string json = smallJson();
  for (size_t length = 0; length < json.size(); ++length) {
    auto imported =
        importTokenizer(std::string_view(json).substr(0, length), "t.json");
    ASSERT_FALSE(imported) << length;
    ASSERT_EQ(imported.error().message.substr(0, 7), "t.json:") << length;
  }
}

/// Each character replaced by others: an error or a tokenizer, never a crash.
TEST(TokenizerImport, ChangedCharactersNeverCrash) {
  std::string json = smallJson();
  size_t accepted = 0;
  for (size_t i = 0; i < json.size(); ++i)
    for (char c : {'0', '"', '}', 'x', '\xff'}) {
      std::string changed = json;
      changed[i] = c;
      auto imported = importTokenizer(changed, "t.json");
      if (!imported)
        continue;
      ++accepted;
      auto tokenizer = Tokenizer::open(imported->tables);
      ASSERT_TRUE(tokenizer) << tokenizer.error().message;
      ASSERT_TRUE(tokenizer->encode("the [CLS] unaffable, a new x"));
    }
  EXPECT_GT(accepted, 0u);
}

TEST(TokenizerImport, OldFilesWithoutModelType) {
  std::string json =
      replaceOnce(smallJson(), R"("type": "WordPiece", "unk)", R"("unk)");
  EXPECT_EQ(load(json)->encode("the")->ids, (std::vector<int64_t>{1, 8}));
}

} // namespace
} // namespace transom::test
