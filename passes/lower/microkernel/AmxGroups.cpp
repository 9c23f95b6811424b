// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiplies quantized values in groups with AMX tiles (Intel SDM volume 1,
// 18). The tiles sum a group with up to 32 rows and 32 columns in i32. While
// they sum the next group, vectors multiply these sums by the scales and add
// them to the f32 sums. The results equal those from the vector loops.
#include "passes/lower/microkernel/AmxTiles.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {

/// A group along K and its number of elements.
struct Group {
  Index index;
  int64_t size;
};

class AmxGroupsProduct final : public AmxProduct {
public:
  AmxGroupsProduct(CodeEmitter &e, const KernelSpec &spec,
                   const KernelArgs &args)
      : AmxProduct(e, spec), format(spec.rhs->getFormat()),
        wholeSums(e.stackBuffer(sumsBytes)) {
    if (isPacked())
      bytes = e.stackBuffer(format.group * panelWidth);
    if (spec.init != KernelSpec::AccumulatorInit::Output)
      for (int64_t v = 0; v < numVectors; ++v)
        bias.push_back(
            spec.init == KernelSpec::AccumulatorInit::Bias
                ? e.loadVector(e.f32Type(), e.advance(args.bias, v * tileBytes))
                : e.splat(0.0));
    if (isSingle())
      onlyColumns.emplace(e, spec, args, e.i64(0), *spec.k);
    else
      stages = e.stackBuffer(2 * sumsBytes);
  }

  void emit(const KernelArgs &args, Index block,
            BetweenSteps between) override {
    if (!isSingle())
      emitInit(args, block);
    e.ifThen(
        args.rows <= tileRows, [&] { emitGroups(args, block, 1, between); },
        [&] { emitGroups(args, block, 2, between); });
  }

  Value load(const KernelArgs &args, Index block, Index row,
             int64_t vector) override {
    if (!isSingle())
      return e.loadVector(e.f32Type(), getStaged(block, row, vector));
    const GroupRow ofRow(e, spec, args, e.i64(0), row);
    return onlyColumns->addGroup(e, ofRow, vector, loadWhole(row, vector),
                                 loadInit(args, row, vector));
  }

private:
  /// Maximum steps along K in a group that are not a loop.
  static constexpr int64_t unrolledSteps = 2;

  /// Whether a byte contains two values.
  bool isPacked() const { return getStorageBits(format.element) < 8; }
  /// Whether all of K is one group: sums become f32 when they are read.
  bool isSingle() const { return *spec.k <= format.group; }
  /// Two blocks alternate.
  Value getStaged(Index block, Index row, int64_t vector) {
    return e.advance(e.advance(stages, block % 2 * sumsBytes),
                     getOffset(row, vector));
  }
  Value loadWhole(Index row, int64_t vector) {
    return e.loadVector(e.builder().getI32Type(),
                        e.advance(wholeSums, getOffset(row, vector)));
  }

  /// The initial sums for a row, before the first group.
  Value loadInit(const KernelArgs &args, Index row, int64_t vector) {
    if (spec.init != KernelSpec::AccumulatorInit::Output)
      return bias[vector];
    return e.loadVector(
        e.f32Type(),
        e.advance(args.output, (row * args.outputStride + vector * kLanes) * 4),
        e.laneMask(args.columns - vector * kLanes));
  }

  void emitInit(const KernelArgs &args, Index block) {
    e.forRange(args.rows, [&](Index row) {
      for (int64_t v = 0; v < numVectors; ++v)
        e.storeVector(loadInit(args, row, v), getStaged(block, row, v));
    });
  }

  void emitGroups(const KernelArgs &args, Index block, int64_t numTiles,
                  BetweenSteps between) {
    const int64_t whole = *spec.k / format.group, rest = *spec.k % format.group;
    auto emitLast = [&](Group group) {
      if (!isSingle())
        emitScales(args, block, group);
    };
    e.forRange(e.i64(whole), [&](Index index) {
      emitTiles(args, {index, format.group}, numTiles, between);
      // Before the stores, since a load would wait for an earlier store to the
      // same page offset.
      if (whole > 1)
        e.ifThen(0 < index,
                 [&] { emitScales(args, block, {index - 1, format.group}); });
      storeSums(numTiles, wholeSums);
    });
    if (rest) {
      emitTiles(args, {e.i64(whole), rest}, numTiles, between);
      if (whole)
        emitScales(args, block, {e.i64(whole - 1), format.group});
      storeSums(numTiles, wholeSums);
      emitLast({e.i64(whole), rest});
    } else {
      emitLast({e.i64(whole - 1), format.group});
    }
  }

  /// Sums a group in tile registers.
  void emitTiles(const KernelArgs &args, Group group, int64_t numTiles,
                 BetweenSteps between) {
    const int64_t depth = spec.getAmxDepth();
    Index first = group.index * format.group;
    Value rhs = e.advance(args.rhs, spec.rhs->getDepthBytes(first)),
          lhs = e.advance(args.lhs, first);
    if (isPacked())
      rhs = emitUnpacked(rhs, group.size);
    forTiles(numTiles, [&](int64_t rows, int64_t column) {
      e.callIntrinsic("llvm.x86.tilezero",
                      {getTile(e, TileRegisters::sums(rows, column))});
    });
    e.forLoop(
        e.i64(0), e.i64(group.size), depth, ValueRange(),
        [&](Index k, ValueRange) {
          emitPrefetches(args, first + k);
          emitStep(args, k, lhs, rhs, numTiles);
          emitBetween((first + k) / depth, between);
          return SmallVector<Value>();
        },
        /*keepRolled=*/group.size > unrolledSteps * depth);
  }

  /// Multiplies one step in a group, from element `k` on.
  void emitStep(const KernelArgs &args, Index k, Value lhs, Value rhs,
                int64_t numTiles) {
    constexpr int64_t stepBytes = panelWidth * 4; // four k
    Index rowBytes = spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride;
    for (int64_t column = 0; column < tileColumns; ++column)
      loadTile(e, TileRegisters::rhs(column),
               e.advance(rhs, k / 4 * stepBytes + column * tileBytes),
               e.i64(stepBytes));
    for (int64_t rows = 0; rows < numTiles; ++rows)
      loadTile(e, TileRegisters::lhs(rows),
               e.advance(lhs, rowBytes * (rows * tileRows) + k), rowBytes);
    forTiles(numTiles, [&](int64_t rows, int64_t column) {
      e.callIntrinsic("llvm.x86.tdpbsud",
                      {getTile(e, TileRegisters::sums(rows, column)),
                       getTile(e, TileRegisters::lhs(rows)),
                       getTile(e, TileRegisters::rhs(column))});
    });
  }

  /// Unpacks a group's values to bytes, four adjacent k.
  Value emitUnpacked(Value panel, int64_t size) {
    const int64_t stepBytes = format.getStepBytes();
    e.forRange(e.i64(size / format.interleave), [&](Index step) {
      for (int64_t v = 0; v < numVectors; ++v) {
        RhsVector vector{panel, step, e.i64(panelWidth), v, Value(), false};
        for (auto [half, words] : llvm::enumerate(spec.rhs->loadRhs(e, vector)))
          e.storeVector(
              words, e.advance(bytes, (step * 2 + int64_t(half)) * stepBytes +
                                          v * tileBytes));
      }
    });
    return bytes;
  }

  /// Adds a group's sums times its scales.
  void emitScales(const KernelArgs &args, Index block, Group group) {
    const GroupColumns columns(e, spec, args, group.index, group.size);
    e.forRange(args.rows, [&](Index row) {
      const GroupRow ofRow(e, spec, args, group.index, row);
      for (int64_t v = 0; v < numVectors; ++v) {
        Value staged = getStaged(block, row, v);
        Value sum = e.loadVector(e.f32Type(), staged);
        e.storeVector(columns.addGroup(e, ofRow, v, loadWhole(row, v), sum),
                      staged);
      }
    });
  }

  /// Vectors per row of sums.
  static constexpr int64_t numVectors = tileColumns;

  const OperandFormat &format;
  Value wholeSums; ///< for a group, [amxRows][32] i32
  Value stages;    ///< for two blocks, [amxRows][32] f32
  Value bytes;     ///< for a group, [group/4][32][4]
  SmallVector<Value> bias;
  std::optional<GroupColumns> onlyColumns; ///< if all of K is one group
};

} // namespace

std::unique_ptr<AmxProduct>
transom::lower::makeAmxGroupsProduct(CodeEmitter &e, const KernelSpec &spec,
                                     const KernelArgs &args) {
  return std::make_unique<AmxGroupsProduct>(e, spec, args);
}
