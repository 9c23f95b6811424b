// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code inside a micro-kernel's function. A tile is a row-major array of
// 16-lane vectors of f32, `mr` rows of `spec.getVectors(isa)` vectors.
#pragma once
#include "passes/lower/microkernel/MicroKernel.h"

namespace transom::lower {

/// Emits the body of the kernel for tiles of `mr` rows.
void emitKernelBody(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
                    const KernelArgs &args);

/// The scale of a row's group, and the sum of its numbers where the code needs
/// it.
struct GroupRow {
  GroupRow(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args,
           Index group, Index row);

  mlir::Value scale, sum;
};

/// The scales and minimums of a tile's columns in a group of `size` numbers.
class GroupColumns {
public:
  GroupColumns(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args,
               Index group, int64_t size);

  /// A sum of f32 with that of a group, given as whole numbers, of a row and
  /// the columns of a vector.
  mlir::Value addGroup(CodeEmitter &e, const GroupRow &row, int64_t vector,
                       mlir::Value whole, mlir::Value sum) const;
  /// The weights of the columns of a vector, given as whole numbers.
  mlir::Value dequantize(CodeEmitter &e, int64_t vector,
                         mlir::Value whole) const;

private:
  llvm::SmallVector<mlir::Value> scales, minimums;
  int64_t offset;  ///< that is added to each number before it is multiplied
  int64_t largest; ///< magnitude of the whole sum of a group
};

/// Emits the body of a kernel with AMX, for `args.rows` rows.
void emitAmxKernel(CodeEmitter &e, const KernelSpec &spec,
                   const KernelArgs &args);

/// Stores a row of a tile as a row of the output. `getSum` gives the vectors of
/// its sums. `partial`: columns are missing.
void emitStoreRow(CodeEmitter &e, const KernelSpec &spec,
                  const KernelArgs &args, Index row, bool partial,
                  llvm::function_ref<mlir::Value(int64_t)> getSum);

/// Stores the first `rows` rows of a tile into key panels:
/// [positions/32][columns][32] in f32, [positions/32][columns/2][32][2] in
/// bf16.
void emitStoreKeyPanels(CodeEmitter &e, const KernelSpec &spec, Index rows,
                        const KernelArgs &args,
                        llvm::ArrayRef<mlir::Value> tile, mlir::Value stage);

/// Stores a tile of scores: scaled, minus infinity from column `args.columns`
/// on. The maxima of each row's lanes are merged into those at `args.perRow`.
void emitStoreScores(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
                     const KernelArgs &args, llvm::ArrayRef<mlir::Value> tile);

/// Stores the rows of a tile, each divided by its number at `args.perRow`, or
/// zeros where that number is zero.
void emitStoreNormalized(CodeEmitter &e, const KernelSpec &spec, int64_t mr,
                         const KernelArgs &args,
                         llvm::ArrayRef<mlir::Value> tile);

} // namespace transom::lower
