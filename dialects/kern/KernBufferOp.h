// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operations on buffers share. Private to the dialect.
#pragma once
#include "dialects/kern/Kern.h"

namespace transom::kern {

using Effects = llvm::SmallVectorImpl<
    mlir::SideEffects::EffectInstance<mlir::MemoryEffects::Effect>>;

/// Adds the memory effects of an operation, as MLIR's own passes ask for them:
/// reads and writes of the operands that the BufferOp interface names.
void addBufferEffects(BufferOp op, Effects &effects);

} // namespace transom::kern
