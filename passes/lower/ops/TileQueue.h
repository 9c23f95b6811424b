// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lets workers that own rows share GEMM tiles. A worker takes its own column
// tiles sequentially, and then tiles that other workers have left: a worker
// that is interrupted, or on a slower core, delays the others by no more than a
// tile. Counters in the frame record which tiles are taken.
#pragma once
#include "passes/lower/PhaseEmitter.h"
#include <optional>

namespace transom::lower {

class TileQueue {
public:
  /// Identifies a counter for the column tiles in a column range over a chunk
  /// of rows.
  struct Counter {
    Index owner, number;
  };

  /// Whether workers may share a GEMM's tiles: one worker must own all columns
  /// in a summarized group, and several GEMMs in a phase would use the same
  /// counters.
  static bool canShare(kern::GemmOp op);

  /// Workers that own rows share the tiles of `op` if `canShare` allows it;
  /// each needs up to `numCounters` counters.
  TileQueue(PhaseEmitter &e, kern::GemmOp op, Bool ownsRows, Index numCounters);

  /// Whether workers take tiles from each other. Absent if they never do.
  std::optional<Bool> isShared() const { return shared; }
  /// Runs `body` for this worker and, if tiles are shared, for all others.
  void forOwners(llvm::function_ref<void(Index owner)> body);
  /// Runs `body` for column tiles from `first` to `end`: for all of them or, if
  /// they are shared, for the tiles that this worker takes through the owner's
  /// counter.
  void forTiles(const Counter &counter, Index first, Index end,
                llvm::function_ref<void(Index tile)> body);
  /// The last worker to finish clears the counters.
  void finish();

private:
  PhaseEmitter &e;
  Index numCounters; ///< per worker
  mlir::Value counters;
  std::optional<Bool> shared;
};

} // namespace transom::lower
