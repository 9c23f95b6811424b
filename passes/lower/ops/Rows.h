// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row of a buffer, read and written by vectors of f32. bf16 is widened and
// rounded on the way, so operations on rows are written once.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// One row of f32 or bf16 in memory.
struct Row {
  using Value = mlir::Value;
  PhaseEmitter &e;
  Value pointer;
  bool bf16 = false;

  Value at(Index column) { return e.advance(pointer, column * (bf16 ? 2 : 4)); }
  /// Loads 16 columns from `column` on; those that `mask` disables read as
  /// zero.
  Value load(Index column, Value mask) {
    return bf16 ? e.loadBf16(at(column), mask)
                : e.loadVector(e.f32Type(), at(column), mask);
  }
  void store(Value value, Index column, Value mask) {
    if (bf16)
      e.storeBf16(value, at(column), mask);
    else
      e.storeVector(value, at(column), mask);
  }
};

/// Row `row` of a buffer; all dimensions but the last count as rows.
inline Row getRow(PhaseEmitter &e, mlir::Value buffer, Index row) {
  kern::BufferType type = getBufferType(buffer);
  Index bytes = row * e.rowStride(buffer) * type.getElementBytes();
  return {e, e.advance(e.pointer(buffer), bytes), type.isBf16()};
}

} // namespace transom::lower
