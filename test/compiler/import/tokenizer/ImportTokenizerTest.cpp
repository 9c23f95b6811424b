// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json files that are unusual, unsupported or wrong: each error names
// file, line, column and JSON pointer.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerImport, UnsupportedTypesAreNamed) {
  expectError(R"("type": "WordPiece", "unk)", R"("type": "Letters", "unk)",
              Status::Unsupported,
              "13:10: '/model': unsupported tokenizer model 'Letters'; "
              "supported: BPE, Unigram, WordLevel, WordPiece");
  expectError(R"("version": "1.0")", R"("version": "2.0")", Status::Unsupported,
              "1:13: '/version': unsupported tokenizer version '2.0'; "
              "supported: 1.0");
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

TEST(TokenizerImport, ChangedCharactersNeverCrash) {
  expectChangesNeverCrash(smallJson(), "0\"}x\xff",
                          "the [CLS] unaffable, a new x");
}

TEST(TokenizerImport, OldFilesWithoutModelType) {
  std::string json =
      replaceOnce(smallJson(), R"("type": "WordPiece", "unk)", R"("unk)");
  EXPECT_EQ(load(json)->encode("the")->ids, (std::vector<int64_t>{1, 8}));
}

} // namespace
} // namespace transom::test
