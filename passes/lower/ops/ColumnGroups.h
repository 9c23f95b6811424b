// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM result columns that are processed group by group into a summary or
// quantized values. One worker computes all column tiles in a group and then
// finishes the group.
#pragma once
#include "passes/lower/ops/LowerOps.h"

namespace transom::lower {

class ColumnGroups {
public:
  /// Max rows per chunk: f32 rows that are quantized stay in the second-level
  /// cache, on the stack.
  static int64_t getMaxRows(kern::GemmOp op);

  /// `maxRows` is the chunk size.
  ColumnGroups(PhaseEmitter &e, kern::GemmOp op, int64_t maxRows);

  /// Column tiles per group; 0 without groups.
  int64_t getNumTiles() const { return numTiles; }
  /// Whether the f32 result is on the stack instead of in the out.
  bool isStaged() const { return static_cast<bool>(stage); }
  /// The lowering with which tiles store elements of an out.
  const OperandLowering &getLowering(mlir::Value out) {
    return isStaged() ? OperandLowering::get(OperandFormat())
                      : lower::getLowering(out);
  }
  /// Address of a staged element; `row` counts from the chunk's first row.
  mlir::Value getStaged(Index row, Index column);
  /// Elements from one staged row to the next.
  int64_t getStagedStride() const;
  /// Computes the summary, or quantizes, for a column group in these rows.
  void finish(Index group, IndexPair rows);

private:
  void quantize(Index group, int64_t columns, IndexPair rows);

  PhaseEmitter &e;
  kern::GemmOp op;
  QuantizedRows quantized;
  int64_t numTiles = 0;
  mlir::Value stage; ///< f32 rows in a group
};

} // namespace transom::lower
