// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vocabularies: ids, holes.
#include "test/compiler/import/tokenizer/ImportErrors.h"

namespace transom::test {
namespace {

TEST(TokenizerVocabulary, VocabularyRules) {
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

TEST(TokenizerVocabulary, HolesInTheVocabulary) {
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
  // The library continues after the token count and ignores the file's ids.
  EXPECT_EQ(loaded->getId("New"), 9);
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_EQ(loaded.notes[0],
            "tokenizer.json:5:2: '/added_tokens/1': added token 'New' has id "
            "9, not 77, as the tokenizers library counts");
}

} // namespace
} // namespace transom::test
