// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the work of an attention is cut and what is kept meanwhile, and the
// memory that takes. No schedule changes a bit of the result.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace transom::kern {

/// Query rows of the highest block that one unit of attention takes.
constexpr int64_t kQueryBlock = 24;
/// Pieces of keys whose scores are kept at once; a unit that sees more goes
/// piece by piece.
constexpr int64_t kKeptPieces = 8;
/// Pieces that a part gives room for when pieces are spread over parts; where
/// all parts together lack room, units are not spread.
constexpr int64_t kSpreadSlots = 32;
/// Floats of a vector with a number for each row of a block.
constexpr int64_t kRowNumbers = 32;

/// A schedule by its name, `KIND` or `KIND:HEIGHT`.
struct AttentionSchedule {
  /// Auto: by the shapes of a call. Pieces: a unit takes its keys piece by
  /// piece. Kept: first all scores of a unit. Spread: the pieces of a unit
  /// belong to several parts, whoever is last merges them.
  enum class Kind { Auto, Pieces, Kept, Spread };
  Kind kind = Kind::Auto;
  int64_t height = 0; ///< rows of a block at most; 0: by the shapes of a call

  bool keeps() const { return kind == Kind::Kept; }
  std::string str() const;
  /// Nothing for text that names no schedule.
  static std::optional<AttentionSchedule> parse(llvm::StringRef text);
  /// What `parse` takes, for messages.
  static llvm::StringRef supported();
};

/// Floats from one row of scores to the next: the pieces that are kept, and a
/// line more, so that rows do not fall on the same cache sets.
int64_t scoreStride(const AttentionSchedule &schedule);

/// Floats of scratch that one part needs for values of this size a head:
/// scores, their maxima, two tiles of values, numbers of rows.
int64_t attentionScratchFloats(const AttentionSchedule &schedule,
                               int64_t valueSize);

/// Floats that the result of one piece takes until it is merged.
int64_t attentionSlotFloats(int64_t valueSize);

} // namespace transom::kern
