// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Access to buffers of several dimensions: strides, broadcasting, copies.
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

/// Emits this worker's share of what an operation copies: the outer dimensions
/// are divided among the workers.
void emitStridedCopy(PhaseEmitter &e, mlir::Operation *op,
                     const StridedCopy &copy);

/// The sizes of dimensions.
llvm::SmallVector<Index> emitSizes(PhaseEmitter &e,
                                   llvm::ArrayRef<Polynomial> dims);

/// The element strides of a buffer's dimensions.
llvm::SmallVector<Index> emitStrides(PhaseEmitter &e, kern::BufferType type);

/// The element offset of outer index `row` (row-major over `dims` without the
/// last) in an operand of `operandDims` that is broadcast to `dims`.
Index emitBroadcastOffset(PhaseEmitter &e, Index row,
                          llvm::ArrayRef<Polynomial> dims,
                          llvm::ArrayRef<Polynomial> operandDims,
                          const Polynomial &operandRowStride);

} // namespace transom::lower
