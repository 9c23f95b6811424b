// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unigram model files: the token list and the unknown token.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerUnigramImport, TheUnknownToken) {
  expectUnigramError(R"("unk_id": 0)", R"("unk_id": 11)", Status::Rejected,
                     "7:40: '/model/unk_id': unknown token 11 is not in the "
                     "vocabulary of 11 tokens");
  expectUnigramError(R"("unk_id": 0)", R"("unk_id": -1)", Status::Rejected,
                     "7:40: '/model/unk_id': expected an integer from 0 to "
                     "2147483647, got -1");
}

TEST(TokenizerUnigramImport, WithoutAnUnknownToken) {
  for (const char *none : {R"("unk_id": null)", R"("unk": 0)"}) {
    Loaded loaded =
        load(replaceOnce(smallUnigramJson(), R"("unk_id": 0)", none));
    EXPECT_EQ(loaded->encode("ab")->ids, std::vector<int64_t>{6});
    auto encoding = loaded->encode("abxa");
    ASSERT_FALSE(encoding);
    EXPECT_EQ(encoding.error().status, Status::Rejected);
    EXPECT_EQ(encoding.error().message,
              "the character at byte 2 is not in the vocabulary, which has no "
              "unknown token");
  }
}

TEST(TokenizerUnigramImport, MalformedVocabularies) {
  expectUnigramError(R"(["b", 0.0])", R"(["b"])", Status::Rejected,
                     "8:38: '/model/vocab/2': expected a token and its score");
  expectUnigramError(
      R"(["b", 0.0])", R"(["b", "c"])", Status::Rejected,
      "8:44: '/model/vocab/2/1': expected a number, got a string");
  expectUnigramError(
      R"(["b", 0.0])", R"([7, 0.0])", Status::Rejected,
      "8:39: '/model/vocab/2/0': expected a string, got an integer");
  expectUnigramError(R"("vocab": [)", R"("vocab": {}, "x": [)",
                     Status::Rejected,
                     "8:11: '/model/vocab': expected an array, got an object");
}

TEST(TokenizerUnigramImport, ATypeThatIsNotNamed) {
  Loaded loaded =
      load(replaceOnce(smallUnigramJson(), R"("type": "Unigram", )", ""));
  EXPECT_EQ(loaded->encode("ab")->ids, std::vector<int64_t>{6});
}

TEST(TokenizerUnigramImport, ChangedCharactersNeverCrash) {
  expectChangesNeverCrash(smallUnigramJson(), "0\"}x -", "abcd \u00e9x<unk>");
}

} // namespace
} // namespace transom::test
