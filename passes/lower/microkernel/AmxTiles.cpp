// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configures, loads and stores tile registers.
#include "passes/lower/microkernel/AmxTiles.h"
#include "passes/lower/microkernel/MicroKernel.h"
#include <array>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

Value transom::lower::getTile(CodeEmitter &e, int64_t number) {
  OpBuilder &b = e.builder();
  return b.create<LLVM::ConstantOp>(e.location(), b.getI8Type(),
                                    b.getI8IntegerAttr(int8_t(number)));
}

void transom::lower::loadTile(CodeEmitter &e, int64_t tile, Value pointer,
                              Index stride) {
  e.callIntrinsic("llvm.x86.tileloadd64", {getTile(e, tile), pointer, stride});
}

void transom::lower::storeTile(CodeEmitter &e, int64_t tile, Value pointer,
                               Index stride) {
  e.callIntrinsic("llvm.x86.tilestored64", {getTile(e, tile), pointer, stride});
}

std::unique_ptr<AmxProduct> AmxProduct::make(CodeEmitter &e,
                                             const KernelSpec &spec,
                                             const KernelArgs &args) {
  return spec.rhs->getFormat().isGrouped() ? makeAmxGroupsProduct(e, spec, args)
                                           : makeAmxBf16Product(e, spec);
}

void AmxProduct::storeSums(int64_t numTiles, Value to) {
  forTiles(numTiles, [&](int64_t rows, int64_t column) {
    storeTile(e, TileRegisters::sums(rows, column),
              e.advance(to, getOffset(rows * tileRows, column)),
              e.i64(tileColumns * tileBytes));
  });
}

void AmxProduct::emitPrefetches(const KernelArgs &args, Index first) {
  if (!spec.prefetch)
    return;
  const int64_t perIteration = spec.rhs->getKPerIteration(),
                iterations = spec.getAmxDepth() / perIteration;
  for (auto [stream, stride] :
       {std::pair{args.prefetch, args.prefetchStride},
        std::pair{args.prefetchMore, args.prefetchMoreStride}}) {
    Value from = e.advance(stream, first / perIteration * stride);
    e.forLoop(e.i64(0), stride * iterations, 2 * tileBytes,
              [&](Index at) { e.prefetch(e.advance(from, at)); });
  }
}

void AmxProduct::emitBetween(Index step, BetweenSteps between) {
  const int64_t rows = llvm::divideCeil(amxRows, getNumSteps());
  between({step * rows, step * rows + rows});
}

/// Sets the register sizes: palette 1, the bytes per row for each register, and
/// the rows for each register, in one byte. A register without rows would be an
/// error.
static void configure(CodeEmitter &e, Value config, Index rows,
                      int64_t depthBytes) {
  // Collect the row counts by register.
  Index first = min(rows, tileRows), second = max(rows - tileRows, 1);
  int64_t ofFirst = 0, ofSecond = 0, ofBoth = 0;
  auto addTo = [](int64_t &word, int64_t tile, int64_t rows) {
    word += rows << (8 * tile);
  };
  for (int64_t column = 0; column < tileColumns; ++column) {
    addTo(ofFirst, TileRegisters::sums(0, column), 1);
    addTo(ofSecond, TileRegisters::sums(1, column), 1);
    addTo(ofBoth, TileRegisters::rhs(column), depthBytes / 4);
  }
  addTo(ofFirst, TileRegisters::lhs(0), 1);
  addTo(ofSecond, TileRegisters::lhs(1), 1);
  // Four 16-bit values per word: for the sums, and for both operands.
  constexpr int64_t palette = 1, sumBytes = 0x0040004000400040,
                    rhsBytes = 0x0040004000000000, lhsOnes = 0x00010001;
  const std::array<Index, 8> words = {e.i64(palette),
                                      e.i64(0),
                                      e.i64(sumBytes),
                                      e.i64(rhsBytes + lhsOnes * depthBytes),
                                      e.i64(0),
                                      e.i64(0),
                                      first * ofFirst + second * ofSecond +
                                          ofBoth,
                                      e.i64(0)};
  for (auto [i, word] : llvm::enumerate(words))
    e.store(word, e.advance(config, int64_t(i) * 8));
  e.callIntrinsic("llvm.x86.ldtilecfg", {config});
}

/// Configuration size in bytes; the row count follows it.
static constexpr int64_t kConfigBytes = 64;

Value transom::lower::makeTileConfig(CodeEmitter &e) {
  Value config = e.stackBuffer(kConfigBytes + 8);
  e.store(e.i64(0), e.advance(config, kConfigBytes));
  return config;
}

void transom::lower::configureTiles(CodeEmitter &e, Value tileConfig,
                                    Index rows, int64_t depthBytes) {
  Value configured = e.advance(tileConfig, kConfigBytes);
  e.ifThen(logicalNot(e.loadI64(configured) == rows), [&] {
    configure(e, tileConfig, rows, depthBytes);
    e.store(rows, configured);
  });
}

void transom::lower::releaseTiles(CodeEmitter &e) {
  e.callIntrinsic("llvm.x86.tilerelease", {});
}
