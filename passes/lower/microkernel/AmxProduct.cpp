// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiplies bf16 with AMX tiles (Intel SDM volume 1, 18): a tile has up to 16
// rows with 64 bytes each. A left operand tile is 16 rows with 32 elements, a
// right operand tile is 16 pairs along K for 16 columns, in panel layout, and a
// sum tile is 16 rows with 16 columns. Two row tiles and two column tiles are
// multiplied at a time, or one row tile if it holds all rows.
#include "passes/lower/microkernel/AmxTiles.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
class AmxBf16Product final : public AmxProduct {
public:
  AmxBf16Product(CodeEmitter &e, const KernelSpec &spec)
      : AmxProduct(e, spec), stages(e.stackBuffer(2 * sumsBytes)) {}

  void emit(const KernelArgs &args, Index block,
            BetweenSteps between) override {
    Value stage = getStage(block);
    e.ifThen(
        args.rows <= tileRows, [&] { emitProduct(args, stage, 1, between); },
        [&] { emitProduct(args, stage, 2, between); });
  }

  Value load(const KernelArgs &, Index block, Index row,
             int64_t vector) override {
    return e.loadVector(e.f32Type(),
                        e.advance(getStage(block), getOffset(row, vector)));
  }

private:
  /// The sums for two blocks alternate: a block's initial sums may be stored
  /// while the previous block's sums are read.
  Value getStage(Index block) {
    return e.advance(stages, block % 2 * sumsBytes);
  }

  /// The initial sums.
  void emitInit(const KernelArgs &args, Value stage, int64_t numTiles) {
    if (spec.init == KernelSpec::AccumulatorInit::Output)
      stageOutput(args, stage);
    forTiles(numTiles, [&](int64_t rows, int64_t column) {
      const int64_t sums = TileRegisters::sums(rows, column);
      switch (spec.init) {
      case KernelSpec::AccumulatorInit::Zero:
        e.callIntrinsic("llvm.x86.tilezero", {getTile(e, sums)});
        break;
      case KernelSpec::AccumulatorInit::Bias: // for all rows
        loadTile(e, sums, e.advance(args.bias, column * tileBytes), e.i64(0));
        break;
      case KernelSpec::AccumulatorInit::Output:
        loadTile(e, sums, e.advance(stage, getOffset(rows * tileRows, column)),
                 e.i64(tileColumns * tileBytes));
        break;
      }
    });
  }

  /// Copies the existing output columns to the stage.
  void stageOutput(const KernelArgs &args, Value stage) {
    e.forRange(args.rows, [&](Index row) {
      for (int64_t column = 0; column < tileColumns; ++column) {
        Value from = e.advance(args.output,
                               (row * args.outputStride + column * kLanes) * 4);
        e.storeVector(e.loadVector(e.f32Type(), from,
                                   e.laneMask(args.columns - column * kLanes)),
                      e.advance(stage, getOffset(row, column)));
      }
    });
  }

  void emitProduct(const KernelArgs &args, Value stage, int64_t numTiles,
                   BetweenSteps between) {
    // The right operand is padded with zeros to a whole step.
    Index steps = spec.k ? e.i64(getNumSteps()) : ceilDiv(args.k, amxBf16Depth);
    emitInit(args, stage, numTiles);
    e.forLoop(
        e.i64(0), steps, 1, ValueRange(),
        [&](Index step, ValueRange) {
          emitPrefetches(args, step * amxBf16Depth);
          emitStep(args, step, numTiles);
          if (spec.k)
            emitBetween(step, between);
          return SmallVector<Value>();
        },
        /*keepRolled=*/true);
    if (!spec.k)
      between({e.i64(0), e.i64(amxRows)});
    storeSums(numTiles, stage);
  }

  /// Multiplies `amxBf16Depth` elements along K.
  void emitStep(const KernelArgs &args, Index step, int64_t numTiles) {
    constexpr int64_t pairs = amxBf16Depth / 2;
    const int64_t stepBytes = spec.rhs->getFormat().getStepBytes();
    for (int64_t column = 0; column < tileColumns; ++column)
      loadTile(
          e, TileRegisters::rhs(column),
          e.advance(args.rhs, step * (pairs * stepBytes) + column * tileBytes),
          e.i64(stepBytes));
    Index rowBytes =
        (spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride) * 2;
    for (int64_t rows = 0; rows < numTiles; ++rows) {
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

  Value stages; ///< for two blocks, [amxRows][32] f32
};
} // namespace

std::unique_ptr<AmxProduct>
transom::lower::makeAmxBf16Product(CodeEmitter &e, const KernelSpec &spec) {
  return std::make_unique<AmxBf16Product>(e, spec);
}
