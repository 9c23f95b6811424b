// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands inside a micro-kernel's function.
#pragma once
#include "passes/lower/microkernel/MicroKernel.h"

namespace transom::lower {

/// Emits the whole of a kernel for tiles of `rows` rows.
void emitKernelBody(Emitter &e, const KernelSpec &spec, int64_t rows,
                    const KernelArgs &args);

/// Stores a tile, row-major vectors of f32 with the instruction set's number
/// of vectors a row, into key panels: a column (in bf16 a pair of them) of the
/// 32 positions of a panel stands together.
void emitStoreKeys(Emitter &e, const KernelSpec &spec, int64_t rows,
                   const KernelArgs &args, llvm::ArrayRef<mlir::Value> tile);

/// Stores a tile of scores: scaled, minus infinity from column `args.columns`
/// on; the maxima of each row's lanes join those at `args.perRow`.
void emitStoreScores(Emitter &e, const KernelSpec &spec, int64_t rows,
                     const KernelArgs &args, llvm::ArrayRef<mlir::Value> tile);

/// Stores the rows of a tile, each divided by its number at `args.perRow`, or
/// zeros where that is not positive.
void emitStoreQuotients(Emitter &e, const KernelSpec &spec, int64_t rows,
                        const KernelArgs &args,
                        llvm::ArrayRef<mlir::Value> tile);

} // namespace transom::lower
