// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code inside a micro-kernel function. A tile is a row-major array with
// 16-lane f32 vectors, `mr` rows with `spec.getVectors(isa)` vectors each.
#pragma once
#include "passes/lower/microkernel/MicroKernel.h"

namespace transom::lower {

/// Emits the kernel body for tiles with `mr` rows.
void emitKernelBody(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
                    const KernelArgs &args);

/// A row's scale in a group, and its element sum if the code needs it.
struct GroupRow {
  GroupRow(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args,
           Index group, Index row);

  mlir::Value scale, sum;
};

/// The scales and offsets for a tile's columns in a group with `size` elements.
class GroupColumns {
public:
  GroupColumns(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args,
               Index group, int64_t size);

  /// Adds a group's integer sum, for a row and a column vector, to an f32 sum.
  mlir::Value addGroup(CodeEmitter &e, const GroupRow &row, int64_t vector,
                       mlir::Value whole, mlir::Value sum) const;
  /// Converts quantized values in a column vector to weights.
  mlir::Value dequantize(CodeEmitter &e, int64_t vector,
                         mlir::Value whole) const;

private:
  llvm::SmallVector<mlir::Value> scales, minimums;
  int64_t offset;  ///< added to each quantized value before the multiplication
  int64_t largest; ///< max magnitude of a group's integer sum
};

/// Emits an AMX kernel body, for `args.rows` rows.
void emitAmxKernel(CodeEmitter &e, const KernelSpec &spec,
                   const KernelArgs &args);

/// Stores a tile row as an output row. `getSum` returns its sums as vectors.
/// `partial`: columns are missing.
void emitStoreRow(CodeEmitter &e, const KernelSpec &spec,
                  const KernelArgs &args, Index row, bool partial,
                  llvm::function_ref<mlir::Value(int64_t)> getSum);

/// Stores the first `rows` rows in a tile into key panels:
/// [positions/32][columns][32] in f32, [positions/32][columns/2][32][2] in
/// bf16.
void emitStoreKeyPanels(CodeEmitter &e, const KernelSpec &spec, Index rows,
                        const KernelArgs &args,
                        llvm::ArrayRef<mlir::Value> tile, mlir::Value stage);

/// Stores a score tile: scaled, minus infinity from column `args.columns` on.
/// Each row's lane maxima are merged into the maxima at `args.perRow`.
void emitStoreScores(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
                     const KernelArgs &args, llvm::ArrayRef<mlir::Value> tile);

/// Stores tile rows, each divided by its value at `args.perRow`, or zeros if
/// that value is zero.
void emitStoreNormalized(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
                         const KernelArgs &args,
                         llvm::ArrayRef<mlir::Value> tile);

} // namespace transom::lower
