// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operations on buffers share: how they define the interface BufferOp.
// Private to the dialect.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom::kern {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Adds the memory effects of an operation, as MLIR's own passes ask for them:
/// reads and writes of the operands that the BufferOp interface names.
void addBufferEffects(BufferOp op, Effects &effects);

/// The buffers among these values.
llvm::SmallVector<mlir::Value> getBuffers(mlir::ValueRange values);
/// The number of elements of a buffer.
Polynomial getElementCount(mlir::Value buffer);
/// The number of rows of a buffer.
Polynomial getRows(mlir::Value buffer);
/// `canRoundOutput` of an operation that writes one buffer: it can write bf16
/// instead of f32, but not both.
bool replacesOut(mlir::Value outs, mlir::Value out,
                 const RoundedBuffer &rounded, bool onlyRounded,
                 RoundObstacle &obstacle);

/// Defines the interface of an operation that reads `READS`, writes `outs`,
/// owns the rows `ROWS` and takes `FLOPS` operations.
#define BUFFER_OP(OP, READS, ROWS, FLOPS)                                      \
  SmallVector<Value> OP::readBuffers() { return getBuffers(READS); }           \
  SmallVector<Value> OP::writtenBuffers() { return getBuffers(getOuts()); }    \
  std::optional<Polynomial> OP::ownedRows() { return ROWS; }                   \
  Polynomial OP::flops() { return FLOPS; }

} // namespace transom::kern
