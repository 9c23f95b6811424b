// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared implementation for buffer operations, based on the BufferOp interface.
// Private to the dialect.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom::kern {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Adds memory effects for upstream MLIR passes: the operands that the BufferOp
/// interface lists as read or written.
void addBufferEffects(BufferOp op, Effects &effects);

/// Returns the buffers among these values.
llvm::SmallVector<mlir::Value> getBuffers(mlir::ValueRange values);
/// A buffer's element count.
Polynomial getElementCount(mlir::Value buffer);
/// A buffer's row count.
Polynomial getRows(mlir::Value buffer);
/// `canRoundOutput` for an operation that writes one buffer: it can write bf16
/// instead of f32, but not both.
bool replacesOut(mlir::Value outs, mlir::Value out,
                 const RoundedBuffer &rounded, bool onlyRounded,
                 RoundObstacle &obstacle);

/// Implements the interface for an operation that reads `READS`, writes `outs`,
/// owns the rows `ROWS` and takes `FLOPS` operations.
#define BUFFER_OP(OP, READS, ROWS, FLOPS)                                      \
  SmallVector<Value> OP::readBuffers() { return getBuffers(READS); }           \
  SmallVector<Value> OP::writtenBuffers() { return getBuffers(getOuts()); }    \
  std::optional<Polynomial> OP::ownedRows() { return ROWS; }                   \
  Polynomial OP::flops() { return FLOPS; }

} // namespace transom::kern
