// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One row of a buffer while it is read or written by vectors: bf16 is widened
// and rounded on the way, so that operations on rows are written once.
#pragma once
#include "passes/lower/Phase.h"

namespace transom::lower {

/// One row of f32 or bf16 in memory.
struct Row {
  using Value = mlir::Value;
  PhaseEmitter &e;
  Value pointer;
  bool bf16 = false;

  Value at(Value column) {
    return e.advance(pointer, e.mul(column, bf16 ? 2 : 4));
  }
  /// 16 columns from `column` on; those that `mask` hides read as zero.
  Value load(Value column, Value mask) {
    return bf16 ? e.loadBf16(at(column), mask)
                : e.loadVector(e.f32Type(), at(column), mask);
  }
  void store(Value value, Value column, Value mask) {
    if (bf16)
      e.storeBf16(value, at(column), mask);
    else
      e.storeVector(value, at(column), mask);
  }
};

/// Row `row` of a buffer, all dimensions but the last counted as rows.
inline Row rowOf(PhaseEmitter &e, mlir::Value buffer, mlir::Value row) {
  kern::BufferType type = PhaseEmitter::typeOf(buffer);
  mlir::Value bytes =
      e.mul(e.mul(row, e.rowStride(buffer)), type.getElementBytes());
  return {e, e.advance(e.pointer(buffer), bytes), type.isBf16()};
}

/// The columns of a row.
inline mlir::Value lastDim(PhaseEmitter &e, mlir::Value buffer) {
  return e.size(PhaseEmitter::typeOf(buffer).getDims().back());
}

} // namespace transom::lower
