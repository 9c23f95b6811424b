// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of a product's result of which something is made group by group: a
// summary, or whole numbers. Column tiles of a group are one worker's, which
// finishes the group after them.
#pragma once
#include "passes/lower/ops/LowerOps.h"

namespace transom::lower {

class ColumnGroups {
public:
  /// Rows of a chunk at most: the f32 of those of which whole numbers are made
  /// stay in the second-level cache, on the stack.
  static int64_t getMaxRows(kern::GemmOp op);

  /// `maxRows` is that of a chunk.
  ColumnGroups(PhaseEmitter &e, kern::GemmOp op, int64_t maxRows);

  /// Column tiles of a group; 0 where nothing is made of groups.
  int64_t getNumTiles() const { return numTiles; }
  /// Whether the result in f32 is on the stack, not in the out.
  bool isStaged() const { return static_cast<bool>(stage); }
  /// How tiles store the numbers of an out.
  const OperandLowering &getLowering(mlir::Value out) {
    return isStaged() ? OperandLowering::get(OperandFormat())
                      : lower::getLowering(out);
  }
  /// Where it is there; `row` counts from the first one of the chunk.
  mlir::Value getStaged(Index row, Index column);
  /// Elements from one row to the next there.
  int64_t getStagedStride() const;
  /// Makes what there is to make of a group of columns of these rows.
  void finish(Index group, IndexPair rows);

private:
  void quantize(Index group, int64_t columns, IndexPair rows);

  PhaseEmitter &e;
  kern::GemmOp op;
  QuantizedRows quantized;
  int64_t numTiles = 0;
  mlir::Value stage; ///< rows of a group in f32
};

} // namespace transom::lower
