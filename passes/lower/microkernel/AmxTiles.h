// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tile registers of AMX as products use them: up to 16 rows of 64 bytes.
// Two tiles of rows and two of columns are multiplied at a time.
#pragma once
#include "passes/lower/emit/CodeEmitter.h"
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

} // namespace transom::lower
