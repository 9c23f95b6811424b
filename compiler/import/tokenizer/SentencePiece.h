// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads SentencePiece model files, which are protocol buffer messages.
#pragma once
#include "runtime/base/Error.h"
#include <string_view>
#include <vector>

namespace transom::tokenizer {

/// Piece type, with the file's values.
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

/// Segmentation model, with the file's values.
enum class PieceModel : uint32_t { Unigram = 1, Bpe, Word, Char };

/// The parts of a model file that encoding needs; strings are views into the
/// file.
struct SentencePieceModel {
  std::vector<Piece> pieces;
  PieceModel model = PieceModel::Unigram;
  bool byteFallback = false;
  uint32_t unknownId = 0;      ///< unknown token
  bool spaceAfterWord = false; ///< a space belongs to the previous word
  std::string_view characterMap;
  bool addDummyPrefix = true;
  bool removeExtraWhitespaces = true;
  bool escapeWhitespaces = true;
};

/// Reads a model file. `Rejected`, with the byte offset, if it is malformed.
Result<SentencePieceModel> readSentencePiece(std::string_view file);

} // namespace transom::tokenizer
