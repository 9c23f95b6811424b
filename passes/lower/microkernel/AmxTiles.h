// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile registers of AMX as products use them: up to 16 rows of 64 bytes.
// Two tiles of rows and two of columns are multiplied at a time.
#pragma once
#include "passes/lower/microkernel/MicroKernel.h"
#include "runtime/abi/Layout.h"

namespace transom::lower {

/// Rows of a tile, and bytes of each.
inline constexpr int64_t tileRows = 16, tileBytes = 64;
/// Tiles of columns: a panel has 32.
inline constexpr int64_t tileColumns = panelWidth / tileRows;

/// Numbers of the tile registers.
struct TileRegisters {
  static int64_t sums(int64_t rows, int64_t column) {
    return rows * tileColumns + column;
  }
  static int64_t lhs(int64_t rows) { return 4 + rows; }
  static int64_t rhs(int64_t column) { return 6 + column; }
};

/// The immediate operand that names a tile register.
mlir::Value getTile(CodeEmitter &e, int64_t number);
/// Loads and stores a tile, with so many bytes from row to row.
void loadTile(CodeEmitter &e, int64_t tile, mlir::Value pointer, Index stride);
void storeTile(CodeEmitter &e, int64_t tile, mlir::Value pointer, Index stride);

/// Called between steps along K with rows of a block, which may be too many.
using BetweenSteps = llvm::function_ref<void(IndexPair)>;

/// The product of blocks of up to `amxRows` rows with a panel.
class AmxProduct {
public:
  virtual ~AmxProduct() = default;

  /// Multiplies a block of rows; `args` are those of the block, and the tiles
  /// are configured. Rows that `between` gets are in all those of a block. It
  /// reads the sums of the block before.
  virtual void emit(const KernelArgs &args, Index block,
                    BetweenSteps between) = 0;
  /// A vector of the sums of a row.
  virtual mlir::Value load(const KernelArgs &args, Index block, Index row,
                           int64_t vector) = 0;

  /// `args` are those of the kernel.
  static std::unique_ptr<AmxProduct>
  make(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args);

protected:
  AmxProduct(CodeEmitter &e, const KernelSpec &spec) : e(e), spec(spec) {}

  /// Sums of a block of rows, [amxRows][32] of 4 bytes.
  static constexpr int64_t sumsBytes = amxRows * panelWidth * 4;
  static int64_t getOffset(int64_t row, int64_t column) {
    return (row * tileColumns + column) * tileBytes;
  }
  static Index getOffset(Index row, int64_t column) {
    return (row * tileColumns + column) * tileBytes;
  }

  /// Runs `visit` for the tiles of sums.
  static void
  forTiles(int64_t numTiles,
           llvm::function_ref<void(int64_t rows, int64_t column)> visit) {
    for (int64_t rows = 0; rows < numTiles; ++rows)
      for (int64_t column = 0; column < tileColumns; ++column)
        visit(rows, column);
  }
  void storeSums(int64_t numTiles, mlir::Value to);
  /// Prefetches what a step along K has to, of the step's first number on:
  /// every second line of two streams.
  void emitPrefetches(const KernelArgs &args, Index first);
  /// Runs `between` with the rows of a step.
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
/// The same of whole numbers in groups.
std::unique_ptr<AmxProduct> makeAmxGroupsProduct(CodeEmitter &e,
                                                 const KernelSpec &spec,
                                                 const KernelArgs &args);

} // namespace transom::lower
