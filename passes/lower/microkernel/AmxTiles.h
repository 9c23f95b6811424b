// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMX tile registers for GEMMs: up to 16 rows with 64 bytes each. Two row tiles
// and two column tiles are multiplied at a time.
#pragma once
#include "passes/lower/microkernel/MicroKernel.h"
#include "runtime/abi/Layout.h"

namespace transom::lower {

/// Rows in a tile, and bytes per row.
inline constexpr int64_t tileRows = 16, tileBytes = 64;
/// Column tiles: a panel has 32 columns.
inline constexpr int64_t tileColumns = panelWidth / tileRows;

/// Tile register numbers.
struct TileRegisters {
  static int64_t sums(int64_t rows, int64_t column) {
    return rows * tileColumns + column;
  }
  static int64_t lhs(int64_t rows) { return 4 + rows; }
  static int64_t rhs(int64_t column) { return 6 + column; }
};

/// The immediate operand that selects a tile register.
mlir::Value getTile(CodeEmitter &e, int64_t number);
/// Loads or stores a tile; `stride`: bytes from row to row.
void loadTile(CodeEmitter &e, int64_t tile, mlir::Value pointer, Index stride);
void storeTile(CodeEmitter &e, int64_t tile, mlir::Value pointer, Index stride);

/// Called between steps along K with a range of rows in a block. The range may
/// extend past the end.
using BetweenSteps = llvm::function_ref<void(IndexPair)>;

/// Multiplies row blocks, up to `amxRows` rows each, by a panel.
class AmxProduct {
public:
  virtual ~AmxProduct() = default;

  /// Multiplies a row block; `args` belong to the block, and the tiles are
  /// configured. The row ranges passed to `between` cover the whole block. It
  /// reads the previous block's sums.
  virtual void emit(const KernelArgs &args, Index block,
                    BetweenSteps between) = 0;
  /// Loads a vector from a sum row.
  virtual mlir::Value load(const KernelArgs &args, Index block, Index row,
                           int64_t vector) = 0;

  /// `args` belong to the kernel.
  static std::unique_ptr<AmxProduct>
  make(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args);

protected:
  AmxProduct(CodeEmitter &e, const KernelSpec &spec) : e(e), spec(spec) {}

  /// Sum bytes for a row block, [amxRows][32] with 4 bytes each.
  static constexpr int64_t sumsBytes = amxRows * panelWidth * 4;
  static int64_t getOffset(int64_t row, int64_t column) {
    return (row * tileColumns + column) * tileBytes;
  }
  static Index getOffset(Index row, int64_t column) {
    return (row * tileColumns + column) * tileBytes;
  }

  /// Runs `visit` for the sum tiles.
  static void
  forTiles(int64_t numTiles,
           llvm::function_ref<void(int64_t rows, int64_t column)> visit) {
    for (int64_t rows = 0; rows < numTiles; ++rows)
      for (int64_t column = 0; column < tileColumns; ++column)
        visit(rows, column);
  }
  void storeSums(int64_t numTiles, mlir::Value to);
  /// Emits the prefetches for a step along K that begins at element `first`:
  /// every second line in two streams.
  void emitPrefetches(const KernelArgs &args, Index first);
  /// Runs `between` with the rows for a step.
  void emitBetween(Index step, BetweenSteps between);
  /// Steps along K.
  int64_t getNumSteps() const {
    return llvm::divideCeil(*spec.k, spec.getAmxDepth());
  }

  CodeEmitter &e;
  const KernelSpec &spec;
};

std::unique_ptr<AmxProduct> makeAmxBf16Product(CodeEmitter &e,
                                               const KernelSpec &spec);
/// The same for quantized values in groups.
std::unique_ptr<AmxProduct> makeAmxGroupsProduct(CodeEmitter &e,
                                                 const KernelSpec &spec,
                                                 const KernelArgs &args);

} // namespace transom::lower
