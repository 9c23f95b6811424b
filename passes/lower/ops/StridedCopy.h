// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to multidimensional buffers: strides, broadcasting, copies.
#pragma once
#include "passes/lower/PhaseEmitter.h"

namespace transom::lower {

/// A copy between the memory of two buffers. Sizes and strides, in elements,
/// start with the outermost dimension.
struct StridedCopy {
  llvm::SmallVector<Index> sizes, sourceStrides, targetStrides;
  mlir::Value source, target;
  mlir::Type element;
};

/// Emits this worker's share of an operation's copy: the outer dimensions are
/// divided among the workers.
void emitStridedCopy(PhaseEmitter &e, mlir::Operation *op,
                     const StridedCopy &copy);

/// Emits dimension sizes.
llvm::SmallVector<Index> emitSizes(PhaseEmitter &e,
                                   llvm::ArrayRef<Polynomial> dims);

/// Emits a buffer's element strides by dimension.
llvm::SmallVector<Index> emitStrides(PhaseEmitter &e, kern::BufferType type);

/// The element offset for outer index `row` (row-major over `dims` without the
/// last) in an operand with `operandDims` that is broadcast to `dims`.
Index emitBroadcastOffset(PhaseEmitter &e, Index row,
                          llvm::ArrayRef<Polynomial> dims,
                          llvm::ArrayRef<Polynomial> operandDims,
                          const Polynomial &operandRowStride);

} // namespace transom::lower
