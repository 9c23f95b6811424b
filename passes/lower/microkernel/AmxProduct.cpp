// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 in tiles of AMX (Intel SDM volume 1, 18): a tile is up to 16
// rows of 64 bytes. One of the left operand is 16 rows of 32 numbers, one of
// the right operand 16 pairs of k of 16 columns, as they lie in a panel, and
// one of the sums 16 rows of 16 columns. Two tiles of rows and two of columns
// are multiplied at a time, with one of each left operand where a single one
// holds all rows.
#include "passes/lower/microkernel/MicroKernelBody.h"
#include <array>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Rows of a tile, and bytes of each.
static constexpr int64_t kTileRows = 16, kTileBytes = 64;
/// Tiles of columns: a panel has 32.
static constexpr int64_t kTileColumns = panelWidth / kTileRows;

namespace {
/// Numbers of the tile registers.
struct Registers {
  static int64_t sums(int64_t rows, int64_t column) {
    return rows * kTileColumns + column;
  }
  static int64_t lhs(int64_t rows) { return 4 + rows; }
  static int64_t rhs(int64_t column) { return 6 + column; }
};

class AmxProduct {
public:
  AmxProduct(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args,
             Value stage)
      : e(e), spec(spec), args(args), stage(stage) {}

  void emit() {
    e.ifThen(
        args.rows <= kTileRows, [&] { emitProduct(1); },
        [&] { emitProduct(2); });
  }

private:
  /// The immediate operand that names a tile register.
  Value getRegister(int64_t number) {
    OpBuilder &b = e.builder();
    return b.create<LLVM::ConstantOp>(e.location(), b.getI8Type(),
                                      b.getI8IntegerAttr(int8_t(number)));
  }
  void load(int64_t tile, Value pointer, Index stride) {
    e.callIntrinsic("llvm.x86.tileloadd64",
                    {getRegister(tile), pointer, stride});
  }

  /// Address of the sums of a pair of tiles in the stage.
  Value getStaged(int64_t rows, int64_t column) {
    return e.advance(stage,
                     (rows * kTileRows * kTileColumns + column) * kTileBytes);
  }
  Index getStageStride() { return e.i64(kTileColumns * kTileBytes); }

  /// The sums before the first k.
  void emitInit(int64_t tiles) {
    if (spec.init == KernelSpec::AccumulatorInit::Output)
      stageOutput();
    for (int64_t rows = 0; rows < tiles; ++rows)
      for (int64_t column = 0; column < kTileColumns; ++column) {
        const int64_t sums = Registers::sums(rows, column);
        switch (spec.init) {
        case KernelSpec::AccumulatorInit::Zero:
          e.callIntrinsic("llvm.x86.tilezero", {getRegister(sums)});
          break;
        case KernelSpec::AccumulatorInit::Bias: // of all rows
          load(sums, e.advance(args.bias, column * kTileBytes), e.i64(0));
          break;
        case KernelSpec::AccumulatorInit::Output:
          load(sums, getStaged(rows, column), getStageStride());
          break;
        }
      }
  }

  /// Copies the columns of the output that exist to the stage.
  void stageOutput() {
    e.forRange(args.rows, [&](Index row) {
      for (int64_t column = 0; column < kTileColumns; ++column) {
        Value from = e.advance(args.output,
                               (row * args.outputStride + column * kLanes) * 4);
        Value to = e.advance(stage, (row * kTileColumns + column) * kTileBytes);
        e.storeVector(e.loadVector(e.f32Type(), from,
                                   e.laneMask(args.columns - column * kLanes)),
                      to);
      }
    });
  }

  /// Instructions along K. A right operand has zeros up to a whole one.
  Index getSteps() {
    return spec.k ? e.i64(*spec.k / amxBf16Depth)
                  : ceilDiv(args.k, amxBf16Depth);
  }

  void emitProduct(int64_t tiles) {
    emitInit(tiles);
    e.forLoop(
        e.i64(0), getSteps(), 1, ValueRange(),
        [&](Index step, ValueRange) {
          emitStep(step, tiles);
          return SmallVector<Value>();
        },
        /*keepRolled=*/true);
    for (int64_t rows = 0; rows < tiles; ++rows)
      for (int64_t column = 0; column < kTileColumns; ++column)
        e.callIntrinsic("llvm.x86.tilestored64",
                        {getRegister(Registers::sums(rows, column)),
                         getStaged(rows, column), getStageStride()});
  }

  /// Prefetches what a step has to of a stream, given its bytes a step: every
  /// second line, since there are two streams.
  void prefetch(Value stream, Index bytes, Index step) {
    Value from = e.advance(stream, step * bytes);
    e.forLoop(e.i64(0), bytes, 2 * kTileBytes,
              [&](Index at) { e.prefetch(e.advance(from, at)); });
  }

  /// Multiplies `amxBf16Depth` numbers of k.
  void emitStep(Index step, int64_t tiles) {
    constexpr int64_t pairs = amxBf16Depth / 2;
    if (spec.prefetch) {
      prefetch(args.prefetch, args.prefetchStride * pairs, step);
      prefetch(args.prefetchMore, args.prefetchMoreStride * pairs, step);
    }
    const int64_t stepBytes = spec.rhs->getFormat().getStepBytes();
    for (int64_t column = 0; column < kTileColumns; ++column)
      load(
          Registers::rhs(column),
          e.advance(args.rhs, step * (pairs * stepBytes) + column * kTileBytes),
          e.i64(stepBytes));
    Index rowBytes =
        (spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride) * 2;
    for (int64_t rows = 0; rows < tiles; ++rows) {
      load(Registers::lhs(rows),
           e.advance(args.lhs,
                     rowBytes * (rows * kTileRows) + step * kTileBytes),
           rowBytes);
      for (int64_t column = 0; column < kTileColumns; ++column)
        e.callIntrinsic("llvm.x86.tdpbf16ps",
                        {getRegister(Registers::sums(rows, column)),
                         getRegister(Registers::lhs(rows)),
                         getRegister(Registers::rhs(column))});
    }
  }

  CodeEmitter &e;
  const KernelSpec &spec;
  const KernelArgs &args;
  Value stage;
};
} // namespace

/// Sets the sizes of the registers: palette 1, 64 bytes a row, and the rows of
/// each, a byte. A register without rows would be an error.
static void configure(CodeEmitter &e, Value config, Index rows) {
  Index first = min(rows, kTileRows), second = max(rows - kTileRows, 1);
  int64_t ofFirst = 0, ofSecond = 0, ofBoth = 0;
  auto addTo = [](int64_t &word, int64_t tile, int64_t rows) {
    word += rows << (8 * tile);
  };
  for (int64_t column = 0; column < kTileColumns; ++column) {
    addTo(ofFirst, Registers::sums(0, column), 1);
    addTo(ofSecond, Registers::sums(1, column), 1);
    addTo(ofBoth, Registers::rhs(column), kTileRows);
  }
  addTo(ofFirst, Registers::lhs(0), 1);
  addTo(ofSecond, Registers::lhs(1), 1);
  constexpr int64_t rowBytes = 0x0040004000400040, palette = 1;
  const std::array<Index, 8> words = {e.i64(palette),
                                      e.i64(0),
                                      e.i64(rowBytes),
                                      e.i64(rowBytes),
                                      e.i64(0),
                                      e.i64(0),
                                      first * ofFirst + second * ofSecond +
                                          ofBoth,
                                      e.i64(0)};
  for (auto [i, word] : llvm::enumerate(words))
    e.store(word, e.advance(config, int64_t(i) * 8));
  e.callIntrinsic("llvm.x86.ldtilecfg", {config});
}

/// Bytes of a configuration, after which the number of rows is.
static constexpr int64_t kConfigBytes = 64;

Value transom::lower::makeTileConfig(CodeEmitter &e) {
  Value config = e.stackBuffer(kConfigBytes + 8);
  e.store(e.i64(0), e.advance(config, kConfigBytes));
  return config;
}

void transom::lower::configureTiles(CodeEmitter &e, Value tileConfig,
                                    Index rows) {
  Value configured = e.advance(tileConfig, kConfigBytes);
  e.ifThen(logicalNot(e.loadI64(configured) == rows), [&] {
    configure(e, tileConfig, rows);
    e.store(rows, configured);
  });
}

void transom::lower::releaseTiles(CodeEmitter &e) {
  e.callIntrinsic("llvm.x86.tilerelease", {});
}

void transom::lower::emitAmxProduct(CodeEmitter &e, const KernelSpec &spec,
                                    const KernelArgs &args, Value stage) {
  AmxProduct(e, spec, args, stage).emit();
}
