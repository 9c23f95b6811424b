// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shortlist files in both formats, and the resulting lists in the runtime.
#include "compiler/import/tokenizer/Shortlist.h"
#include "runtime/generate/Shortlist.h"
#include "test/runtime/malformed/Malformed.h"
#include "test/runtime/tokenizer/Fixture.h"
#include <cstdio>
#include <cstring>
#include <fstream>

namespace transom::test {
namespace {

/// A vocabulary with eight tokens.
std::string makeTables() {
  auto made = importTokenizer(
      R"({"model": {"type": "WordPiece", "unk_token": "u",
          "continuing_subword_prefix": "##", "max_input_chars_per_word": 9,
          "vocab": {"u": 0,
          "a": 1, "b": 2, "c": 3, "A": 4, "B": 5, "C": 6, "D": 7}}})",
      "t.json");
  EXPECT_TRUE(bool(made)) << made.error().message;
  return made->tables;
}

class TokenShortlist : public testing::Test {
protected:
  void TearDown() override { std::remove(path().c_str()); }
  static std::string path() {
    return testing::TempDir() + "shortlist-test.s2t";
  }

  /// Returns the tables with a file that has these bytes.
  static Result<std::string> add(const std::string &bytes, int64_t first = 1,
                                 int64_t best = 2,
                                 ModelVocabulary model = {8, 8}) {
    std::ofstream(path(), std::ios::binary) << bytes;
    std::string tables = makeTables();
    TRANSOM_TRY(addShortlist({path(), first, best}, model, tables));
    return tables;
  }

  static std::vector<int64_t> getTokens(const std::string &tables,
                                        const std::vector<int64_t> &source,
                                        int64_t vocabulary = 8) {
    auto tokenizer = Tokenizer::open(tables);
    EXPECT_TRUE(bool(tokenizer));
    auto list = Shortlist::open(*tokenizer);
    EXPECT_TRUE(bool(list) && *list);
    return (*list)->getTokens(source, vocabulary);
  }

  static void expectError(const std::string &bytes, const std::string &text,
                          ModelVocabulary model = {8, 8}) {
    auto tables = add(bytes, 1, 2, model);
    ASSERT_FALSE(bool(tables));
    EXPECT_EQ(tables.error().status, Status::Rejected);
    EXPECT_EQ(tables.error().message, path() + text);
  }
};

std::string makeBinary(std::vector<uint64_t> header,
                       std::vector<uint64_t> offsets,
                       std::vector<uint32_t> targets) {
  header.insert(header.begin(), 0xF11A48D5013417F5);
  std::string bytes;
  auto append = [&](const auto &values) {
    bytes.append(reinterpret_cast<const char *>(values.data()),
                 values.size() * sizeof values[0]);
  };
  append(header);
  append(offsets);
  append(targets);
  return bytes;
}

TEST_F(TokenShortlist, TextGivesTheBestOfEachSourceToken) {
  auto tables = add("A a 0.5\nB a 0.2\n\nC a\t0.3\r\nD b 1e-3\nNULL a 0.9\n"
                    "A NULL 0.9\nnone a 0.9\nD none 0.9");
  ASSERT_TRUE(bool(tables)) << tables.error().message;
  // The first vocabulary token, A and C from a, and the source token itself.
  EXPECT_EQ(getTokens(*tables, {1}), (std::vector<int64_t>{0, 1, 4, 6}));
  EXPECT_EQ(getTokens(*tables, {2}), (std::vector<int64_t>{0, 2, 7}));
  EXPECT_EQ(getTokens(*tables, {2, 1, 2}),
            (std::vector<int64_t>{0, 1, 2, 4, 6, 7}));
  EXPECT_EQ(getTokens(*tables, {3, 100, -1}), (std::vector<int64_t>{0, 3}));
  // A model with fewer tokens.
  EXPECT_EQ(getTokens(*tables, {2, 1}, 5), (std::vector<int64_t>{0, 1, 2, 4}));
}

TEST_F(TokenShortlist, FirstAndBestCount) {
  auto tables = add("A a 0.5\nB a 0.2\nC a 0.3\n", 3, 1);
  ASSERT_TRUE(bool(tables));
  EXPECT_EQ(getTokens(*tables, {1}), (std::vector<int64_t>{0, 1, 2, 4}));
}

TEST_F(TokenShortlist, EqualProbabilitiesByTheLowerId) {
  auto tables = add("C a 0.5\nB a 0.5\nA a 0.5\n");
  ASSERT_TRUE(bool(tables));
  EXPECT_EQ(getTokens(*tables, {1}), (std::vector<int64_t>{0, 1, 4, 5}));
}

TEST_F(TokenShortlist, BinaryHasLimitsOfItsOwn) {
  auto tables = add(makeBinary({0, 2, 9, 4, 3}, {0, 0, 2, 3}, {4, 6, 7}));
  ASSERT_TRUE(bool(tables)) << tables.error().message;
  EXPECT_EQ(getTokens(*tables, {1}), (std::vector<int64_t>{0, 1, 4, 6}));
  EXPECT_EQ(getTokens(*tables, {2}), (std::vector<int64_t>{0, 1, 2, 7}));
}

TEST_F(TokenShortlist, TablesWithoutOneHaveNone) {
  const std::string tables = makeTables();
  auto tokenizer = Tokenizer::open(tables);
  auto list = Shortlist::open(*tokenizer);
  ASSERT_TRUE(bool(list));
  EXPECT_FALSE(list->has_value());
}

TEST_F(TokenShortlist, MalformedFilesAreRefusedInOneLine) {
  expectError("A a 0.5\nB a\n",
              ":2: expected 'target source probability', got 'B a'");
  expectError("A a x", ":1: expected 'target source probability', got 'A a x'");
  expectError("A a 1 2",
              ":1: expected 'target source probability', got 'A a 1 2'");
  expectError("A a -1", ":1: expected 'target source probability', got 'A a "
                        "-1'");
  expectError("A a nan", ":1: expected 'target source probability', got 'A a "
                         "nan'");
  expectError("", ": none of its 0 lines has two tokens of the model's "
                  "vocabulary; expected lines 'target source probability'");
  expectError("x y 0.5\n", ": none of its 1 lines has two tokens of the "
                           "model's vocabulary; expected lines 'target source "
                           "probability'");
  expectError(makeBinary({0, 2, 9, 4, 2}, {0, 0, 2, 3}, {4, 6, 7}),
              ": its header says 4 offsets of 8 bytes and 2 ids of 4, but 44 "
              "bytes follow it");
  // A size that overflows.
  expectError(
      makeBinary({0, 2, 9, uint64_t(1) << 61, 11}, {0, 0, 2, 3}, {4, 6, 7}),
      ": its header says 2305843009213693952 offsets of 8 bytes and 11 "
      "ids of 4, but 44 bytes follow it");
  expectError(makeBinary({0, 2, 9, 4, 3}, {0, 0, 4, 3}, {4, 6, 7}),
              ": the list of source id 1 is from 0 to 4 of 3 ids");
  expectError(makeBinary({0, 2, 9, 4, 3}, {0, 0, 2, 3}, {4, 8, 7}),
              ": target id 8 of source id 1 is not one of the model's 8");
  expectError(makeBinary({0, 2, 9, 4, 3}, {0, 0, 2, 3}, {4, 6, 7}),
              ": it is for 3 source ids, the model has 2", {2, 8});
  expectError(makeBinary({0, 2}, {}, {}),
              ": cut short: 24 bytes, a binary shortlist has a header of 48");
  auto missing = makeTables();
  auto result = addShortlist({"/nowhere/x", 1, 1}, {}, missing);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(result.error().status, Status::Unavailable);
}

TEST_F(TokenShortlist, DamagedFilesAndTablesNeverLeadOutside) {
  Random random(7);
  const std::string text = "A a 0.5\nB a 0.2\nC b 0.3\n";
  const std::string binary =
      makeBinary({0, 2, 9, 4, 3}, {0, 0, 2, 3}, {4, 6, 7});
  for (int i = 0; i != 600; ++i) {
    auto tables = add(damaged(i % 2 ? text : binary, random));
    if (!tables) {
      expectInputError(tables.error(), path());
      continue;
    }
    // The section is the last one in the tables.
    for (size_t at = tables->size() - 40; at < tables->size(); ++at) {
      std::string bad = *tables;
      bad[at] = char(random.next());
      ExactBytes exact(bad);
      auto tokenizer = Tokenizer::open(exact);
      if (!tokenizer)
        continue;
      auto list = Shortlist::open(*tokenizer);
      if (!list || !*list)
        continue;
      for (int64_t token : (*list)->getTokens({0, 1, 2, 3, 7, 8}, 8))
        EXPECT_TRUE(token >= 0 && token < 8);
    }
  }
}

} // namespace
} // namespace transom::test
