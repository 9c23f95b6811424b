// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts the rows of a step into walks: as many rows as a walk holds, of which as
// many give logits as it has room for. Where the cuts lie does not show in
// results.
#pragma once
#include "runtime/include/transom/transom.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace transom {

/// New tokens of one sequence in a step: a handle of Decoder::open(), once in a
/// step; 1 or more tokens; the last `wanted` of them give logits, 0 to all.
using StepInput = transom_step_input;

/// Rows of one sequence in one walk.
struct StepPiece {
  size_t index;   ///< of its StepInput
  int64_t offset; ///< of its first row in them
  int64_t count;
  int64_t wanted; ///< so many of its last rows give logits
  bool begins;    ///< a new walk
};

/// Gives the pieces of a step one after the other. Copies begin anew where the
/// original stands.
class StepCutter {
public:
  StepCutter(const StepInput *rows, size_t count, int64_t maxRows,
             int64_t maxWanted)
      : rows(rows), count(count), maxRows(maxRows), maxWanted(maxWanted) {}

  const StepInput &operator[](size_t i) const { return rows[i]; }
  size_t size() const { return count; }

  /// The next piece; false behind the last.
  bool next(StepPiece &piece) {
    if (index == count)
      return false;
    if (!cut(piece)) {
      usedRows = usedWanted = 0;
      cut(piece);
    }
    piece.begins = usedRows == 0;
    usedRows += piece.count;
    usedWanted += piece.wanted;
    offset += piece.count;
    if (offset == rows[index].num_tokens) {
      offset = 0;
      ++index;
    }
    return true;
  }

private:
  /// As much of the current rows as the walk takes; false for none.
  bool cut(StepPiece &piece) const {
    const StepInput &from = rows[index];
    int64_t silent =
        std::max<int64_t>(0, from.num_tokens - from.num_logits - offset);
    int64_t take = std::min(from.num_tokens - offset, maxRows - usedRows);
    int64_t wanted =
        std::min(std::max<int64_t>(0, take - silent), maxWanted - usedWanted);
    if (take > silent)
      take = silent + wanted;
    piece = {index, offset, take, wanted, false};
    return take > 0;
  }

  const StepInput *rows;
  size_t count;
  int64_t maxRows, maxWanted;
  size_t index = 0;
  int64_t offset = 0;
  int64_t usedRows = 0, usedWanted = 0; // of the walk
};

} // namespace transom
