// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of bf16 in tiles of AMX (Intel SDM volume 1, 18): a tile is up to 16
// rows of 64 bytes. One of the left operand is 16 rows of 32 numbers, one of
// the right operand 16 pairs of k of 16 columns, as they lie in a panel, and
// one of the sums 16 rows of 16 columns. Two tiles of rows and two of columns
// are multiplied at a time, with one of each left operand where a single one
// holds all rows.
#include "passes/lower/microkernel/AmxTiles.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
class AmxProduct {
public:
  AmxProduct(CodeEmitter &e, const KernelSpec &spec, const KernelArgs &args,
             Value stage)
      : e(e), spec(spec), args(args), stage(stage) {}

  void emit() {
    e.ifThen(
        args.rows <= tileRows, [&] { emitProduct(1); },
        [&] { emitProduct(2); });
  }

private:
  /// Address of the sums of a pair of tiles in the stage.
  Value getStaged(int64_t rows, int64_t column) {
    return e.advance(stage,
                     (rows * tileRows * tileColumns + column) * tileBytes);
  }
  Index getStageStride() { return e.i64(tileColumns * tileBytes); }

  /// The sums before the first k.
  void emitInit(int64_t tiles) {
    if (spec.init == KernelSpec::AccumulatorInit::Output)
      stageOutput();
    for (int64_t rows = 0; rows < tiles; ++rows)
      for (int64_t column = 0; column < tileColumns; ++column) {
        const int64_t sums = TileRegisters::sums(rows, column);
        switch (spec.init) {
        case KernelSpec::AccumulatorInit::Zero:
          e.callIntrinsic("llvm.x86.tilezero", {getTile(e, sums)});
          break;
        case KernelSpec::AccumulatorInit::Bias: // of all rows
          loadTile(e, sums, e.advance(args.bias, column * tileBytes), e.i64(0));
          break;
        case KernelSpec::AccumulatorInit::Output:
          loadTile(e, sums, getStaged(rows, column), getStageStride());
          break;
        }
      }
  }

  /// Copies the columns of the output that exist to the stage.
  void stageOutput() {
    e.forRange(args.rows, [&](Index row) {
      for (int64_t column = 0; column < tileColumns; ++column) {
        Value from = e.advance(args.output,
                               (row * args.outputStride + column * kLanes) * 4);
        Value to = e.advance(stage, (row * tileColumns + column) * tileBytes);
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
      for (int64_t column = 0; column < tileColumns; ++column)
        storeTile(e, TileRegisters::sums(rows, column), getStaged(rows, column),
                  getStageStride());
  }

  /// Prefetches what a step has to of a stream, given its bytes a step: every
  /// second line, since there are two streams.
  void prefetch(Value stream, Index bytes, Index step) {
    Value from = e.advance(stream, step * bytes);
    e.forLoop(e.i64(0), bytes, 2 * tileBytes,
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
    for (int64_t column = 0; column < tileColumns; ++column)
      loadTile(
          e, TileRegisters::rhs(column),
          e.advance(args.rhs, step * (pairs * stepBytes) + column * tileBytes),
          e.i64(stepBytes));
    Index rowBytes =
        (spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride) * 2;
    for (int64_t rows = 0; rows < tiles; ++rows) {
      loadTile(
          e, TileRegisters::lhs(rows),
          e.advance(args.lhs, rowBytes * (rows * tileRows) + step * tileBytes),
          rowBytes);
      for (int64_t column = 0; column < tileColumns; ++column)
        e.callIntrinsic("llvm.x86.tdpbf16ps",
                        {getTile(e, TileRegisters::sums(rows, column)),
                         getTile(e, TileRegisters::lhs(rows)),
                         getTile(e, TileRegisters::rhs(column))});
    }
  }

  CodeEmitter &e;
  const KernelSpec &spec;
  const KernelArgs &args;
  Value stage;
};
} // namespace

void transom::lower::emitAmxProduct(CodeEmitter &e, const KernelSpec &spec,
                                    const KernelArgs &args, Value stage) {
  AmxProduct(e, spec, args, stage).emit();
}
