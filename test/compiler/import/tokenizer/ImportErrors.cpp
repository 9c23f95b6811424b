// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors for tokenizer.json files with one change to the small ones.
#include "test/compiler/import/tokenizer/ImportErrors.h"

using namespace transom;

static Error importWrong(const std::string &json) {
  TRANSOM_ASSIGN(auto imported, importTokenizer(json, "tokenizer.json"));
  ADD_FAILURE() << "accepted";
  return {};
}

static void expectImportError(const std::string &json, Status status,
                              const std::string &message) {
  Error error = importWrong(json);
  EXPECT_EQ(error.status, status);
  EXPECT_EQ(error.message, "tokenizer.json:" + message);
}

Error test::getError(const std::string &from, const std::string &to) {
  SCOPED_TRACE(to);
  return importWrong(replaceOnce(smallJson(), from, to));
}

void test::expectError(const std::string &from, const std::string &to,
                       Status status, const std::string &message) {
  SCOPED_TRACE(to);
  expectImportError(replaceOnce(smallJson(), from, to), status, message);
}

void test::expectBpeError(const std::string &from, const std::string &to,
                          Status status, const std::string &message) {
  SCOPED_TRACE(to);
  expectImportError(replaceOnce(smallBpeJson(), from, to), status, message);
}

void test::expectUnigramError(const std::string &from, const std::string &to,
                              Status status, const std::string &message) {
  SCOPED_TRACE(to);
  expectImportError(replaceOnce(smallUnigramJson(), from, to), status, message);
}

void test::expectChangesNeverCrash(const std::string &json,
                                   std::string_view others,
                                   const std::string &text) {
  size_t accepted = 0;
  for (size_t i = 0; i < json.size(); ++i)
    for (char c : others) {
      std::string changed = json;
      changed[i] = c;
      auto imported = importTokenizer(changed, "t.json");
      if (!imported)
        continue;
      ++accepted;
      auto tokenizer = Tokenizer::open(imported->tables);
      ASSERT_TRUE(tokenizer) << tokenizer.error().message;
      auto encoding = tokenizer->encode(text);
      // A Unigram model may have lost its unknown token.
      if (!encoding) {
        EXPECT_NE(encoding.error().message.find("no unknown token"),
                  std::string::npos);
        continue;
      }
      (void)tokenizer->decode(encoding->ids);
    }
  EXPECT_GT(accepted, 0u);
}
