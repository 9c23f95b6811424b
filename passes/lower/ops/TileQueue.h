// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How workers that have rows of their own share the tiles of a product. A
// worker takes its own column tiles one after another, and then those that are
// left of others: a worker that is interrupted, or on a slower core, delays no
// one for longer than a tile. Counters in the frame tell which tiles are taken.
#pragma once
#include "passes/lower/PhaseEmitter.h"
#include <optional>

namespace transom::lower {

class TileQueue {
public:
  /// Of the column tiles of a range of columns over a chunk of rows.
  struct Counter {
    Index owner, number;
  };

  /// Whether workers may share the tiles of a product: groups of columns that
  /// are summarized are one worker's, and several products of a phase would
  /// take each other's counters.
  static bool canShare(kern::GemmOp op);

  /// Workers that own rows share the tiles of `op` if it can be; each needs no
  /// more than `numCounters`.
  TileQueue(PhaseEmitter &e, kern::GemmOp op, Bool ownsRows, Index numCounters);

  /// Whether workers take tiles from each other. Absent where they never do.
  std::optional<Bool> isShared() const { return shared; }
  /// Runs `body` for this worker and, if tiles are shared, for all others.
  void forOwners(llvm::function_ref<void(Index owner)> body);
  /// Runs `body` for column tiles from `first` to `end`: for all of them or, if
  /// they are shared, for those that this worker takes by a counter of the
  /// owner.
  void forTiles(const Counter &counter, Index first, Index end,
                llvm::function_ref<void(Index tile)> body);
  /// Lets the last worker that is done clear the counters.
  void finish();

private:
  PhaseEmitter &e;
  Index numCounters; ///< of a worker
  mlir::Value counters;
  std::optional<Bool> shared;
};

} // namespace transom::lower
