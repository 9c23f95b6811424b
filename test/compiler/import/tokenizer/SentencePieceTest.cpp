// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SentencePiece's model files: fields, and files that are malformed.
#include "compiler/import/tokenizer/SentencePiece.h"
#include "test/compiler/import/tokenizer/SentencePieces.h"
#include <gtest/gtest.h>

namespace transom::test {
namespace {

using namespace tokenizer;

TEST(SentencePiece, Fields) {
  std::string file = piece("<unk>", 0, 2) + piece("\u2581a", -1.5f) +
                     bytes(2, number(3, 2) + number(35, 1) + number(24, 1)) +
                     bytes(3, bytes(1, "name") + bytes(2, "map") +
                                  number(3, 0) + number(4, 0) + number(5, 0)) +
                     bytes(99, "skipped") + number(98, 7);
  auto model = readSentencePiece(file);
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 2u);
  EXPECT_EQ(model->pieces[0].type, PieceType::Unknown);
  EXPECT_EQ(model->pieces[1].text, "\u2581a");
  EXPECT_EQ(model->pieces[1].score, -1.5f);
  EXPECT_EQ(model->pieces[1].type, PieceType::Normal);
  EXPECT_EQ(model->model, PieceModel::Bpe);
  EXPECT_TRUE(model->byteFallback);
  EXPECT_TRUE(model->spaceAfterWord);
  EXPECT_EQ(model->characterMap, "map");
  EXPECT_FALSE(model->addDummyPrefix);
  EXPECT_FALSE(model->removeExtraWhitespaces);
  EXPECT_FALSE(model->escapeWhitespaces);
}

TEST(SentencePiece, Defaults) {
  std::string file = piece("a", 0);
  auto model = readSentencePiece(file);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->model, PieceModel::Unigram);
  EXPECT_FALSE(model->byteFallback);
  EXPECT_TRUE(model->addDummyPrefix);
  EXPECT_TRUE(model->removeExtraWhitespaces);
  EXPECT_TRUE(model->escapeWhitespaces);
}

std::string getReason(const std::string &file) {
  auto model = readSentencePiece(file);
  if (model)
    return "accepted";
  EXPECT_EQ(model.error().status, Status::Rejected);
  const std::string start = "malformed SentencePiece model";
  EXPECT_EQ(model.error().message.substr(0, start.size()), start);
  return model.error().message.substr(start.size());
}

TEST(SentencePiece, Malformed) {
  EXPECT_EQ(getReason(""), ": no pieces");
  EXPECT_EQ(getReason("\x0a"), " at byte 1: cut short");
  EXPECT_EQ(getReason("\x0a\x05"
                      "ab"),
            " at byte 0: field of 5 bytes where 2 are left");
  EXPECT_EQ(getReason(varint(10) + varint(uint64_t(1) << 62)),
            " at byte 0: field of 4611686018427387904 bytes where 0 are left");
  EXPECT_EQ(getReason(std::string(12, '\xff')),
            " at byte 10: number of more than 64 bits");
  EXPECT_EQ(getReason("\x0b"), " at byte 0: wire type 3");
  EXPECT_EQ(getReason(std::string(2, '\0')), " at byte 0: field 0");
  EXPECT_EQ(getReason(number(1, 3)),
            " at byte 0: field 1 has wire type 0, expected 2");
  EXPECT_EQ(getReason(bytes(1, number(2, 3))),
            " at byte 2: field 2 has wire type 0, expected 5");
  EXPECT_EQ(getReason(piece("\xff", 0)), " at byte 4: a piece is not UTF-8");
  EXPECT_EQ(getReason(piece("", 0)), " at byte 2: an empty piece");
  EXPECT_EQ(getReason(piece("a", 0, 7)), " at byte 10: field 3 is 7");
}

/// For a file truncated anywhere and with any byte changed, the reader stays in
/// bounds.
TEST(SentencePiece, AnyBytes) {
  std::string good = piece("<unk>", 0, 2) + piece("\u2581a", -1.5f) +
                     bytes(2, number(3, 1)) + bytes(3, bytes(2, "map"));
  for (size_t i = 0; i < good.size(); ++i) {
    (void)readSentencePiece(std::string(good, 0, i));
    for (char flip : {'\x01', '\x02', '\x80', '\xff'}) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      (void)readSentencePiece(changed);
    }
  }
}

TEST(SentencePiece, LongPiecesAreRefused) {
  EXPECT_TRUE(readSentencePiece(piece(std::string(1024, 'a'), -1)));
  auto model = readSentencePiece(piece(std::string(1025, 'a'), -1));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().status, Status::Limit);
  EXPECT_EQ(model.error().message,
            "a piece of 1025 bytes at byte 6; supported: at most 1024");
}

} // namespace
} // namespace transom::test
