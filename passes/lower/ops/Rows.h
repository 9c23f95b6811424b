// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One buffer row, read and written by f32 vectors. Elements with another type
// are widened and rounded on the way, so row operations are written once.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// One row of elements in memory.
struct Row {
  using Value = mlir::Value;
  PhaseEmitter &e;
  Value pointer;
  const OperandLowering *format = &OperandLowering::get(OperandFormat());

  Value at(Index column) {
    return e.advance(pointer, column * format->getElementBytes());
  }
  /// Loads 16 columns from `column` on; columns that `mask` disables read as
  /// zero.
  Value load(Index column, Value mask) {
    return format->load(e, at(column), mask);
  }
  void store(Value value, Index column, Value mask) {
    format->store(e, value, at(column), mask);
  }
  /// The row from this column on.
  Row from(Index column) { return {e, at(column), format}; }
};

/// Row `row` in a buffer; all dimensions but the last count as rows.
inline Row getRow(PhaseEmitter &e, mlir::Value buffer, Index row) {
  const OperandLowering &format = getLowering(buffer);
  Index bytes = row * e.rowStride(buffer) * format.getElementBytes();
  return {e, e.advance(e.pointer(buffer), bytes), &format};
}

} // namespace transom::lower
