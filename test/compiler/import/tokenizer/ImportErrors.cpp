// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors of tokenizer.json files that differ in one text from the small ones.
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
