// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading SentencePiece's model files, which are messages of protocol buffers.
#pragma once
#include "runtime/base/Error.h"
#include <string_view>
#include <vector>

namespace transom::tokenizer {

/// What a piece is, with the numbers of the file.
enum class PieceType : uint32_t {
  Normal = 1,
  Unknown,
  Control,
  UserDefined,
  Unused,
  Byte
};

struct Piece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::Normal;
};

/// How pieces are found, with the numbers of the file.
enum class PieceModel : uint32_t { Unigram = 1, Bpe, Word, Char };

/// The parts of a model file that encoding needs; texts lie in the file.
struct SentencePieceModel {
  std::vector<Piece> pieces;
  PieceModel model = PieceModel::Unigram;
  bool byteFallback = false;
  uint32_t unknownId = 0;      ///< of the unknown token
  bool spaceAfterWord = false; ///< a space belongs to the word before it
  std::string_view characterMap;
  bool addDummyPrefix = true;
  bool removeExtraWhitespaces = true;
  bool escapeWhitespaces = true;
};

/// Reads a model file. `Rejected` where it is malformed, with the byte.
Result<SentencePieceModel> readSentencePiece(std::string_view file);

} // namespace transom::tokenizer
