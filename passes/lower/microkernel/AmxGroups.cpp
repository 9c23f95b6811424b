// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of whole numbers in groups in tiles of AMX (Intel SDM volume 1, 18).
// The tiles sum a group of up to 32 rows and 32 columns in i32. While they sum
// the next one, vectors multiply these sums by the scales and add them to those
// of f32. Both are the same numbers as in the loops of vectors.
#include "passes/lower/microkernel/AmxTiles.h"
#include "passes/lower/microkernel/MicroKernelBody.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {

/// Numbers of a group along K.
struct Group {
  Index index;
  int64_t size;
};

class AmxGroupsProduct {
public:
  AmxGroupsProduct(CodeEmitter &e, const KernelSpec &spec,
                   const KernelArgs &args, Value stage)
      : e(e), spec(spec), args(args), stage(stage),
        format(spec.rhs->getFormat()) {
    wholeSums = e.stackBuffer(sumsBytes);
    if (isPacked())
      bytes = e.stackBuffer(format.group * panelWidth);
  }

  void emit() {
    emitInit();
    e.ifThen(
        args.rows <= tileRows, [&] { emitGroups(1); }, [&] { emitGroups(2); });
  }

private:
  /// Bytes of the sums of a group.
  static constexpr int64_t sumsBytes = amxRows * panelWidth * 4;

  /// Whether two numbers are in a byte.
  bool isPacked() const { return getStorageBits(format.element) < 8; }
  Value getStaged(Index row, int64_t vector) {
    return e.advance(stage, (row * numVectors + vector) * tileBytes);
  }

  /// The sums before the first group.
  void emitInit() {
    SmallVector<Value> bias;
    for (int64_t v = 0; v < numVectors; ++v)
      bias.push_back(
          spec.init == KernelSpec::AccumulatorInit::Bias
              ? e.loadVector(e.f32Type(), e.advance(args.bias, v * tileBytes))
              : e.splat(0.0));
    e.forRange(args.rows, [&](Index row) {
      for (int64_t v = 0; v < numVectors; ++v) {
        Value init = bias[v];
        if (spec.init == KernelSpec::AccumulatorInit::Output)
          init = e.loadVector(
              e.f32Type(),
              e.advance(args.output,
                        (row * args.outputStride + v * kLanes) * 4),
              e.laneMask(args.columns - v * kLanes));
        e.storeVector(init, getStaged(row, v));
      }
    });
  }

  void emitGroups(int64_t numTiles) {
    const int64_t whole = *spec.k / format.group, rest = *spec.k % format.group;
    auto emitLast = [&] { emitScales({e.i64(whole - 1), format.group}); };
    e.forRange(e.i64(whole), [&](Index index) {
      emitTiles({index, format.group}, numTiles);
      // Before the stores: a load would wait for an earlier store to the same
      // place of a page.
      e.ifThen(0 < index, [&] { emitScales({index - 1, format.group}); });
      storeSums(numTiles);
    });
    if (rest) {
      emitTiles({e.i64(whole), rest}, numTiles);
      if (whole)
        emitLast();
      storeSums(numTiles);
      emitScales({e.i64(whole), rest});
    } else {
      emitLast();
    }
  }

  /// Sums a group in tile registers.
  void emitTiles(Group group, int64_t numTiles) {
    Index first = group.index * format.group;
    if (spec.prefetch)
      emitPrefetches(group);
    Value rhs = e.advance(args.rhs, spec.rhs->getDepthBytes(first));
    if (isPacked())
      rhs = emitUnpacked(rhs, group.size);
    const int64_t depth = spec.getAmxDepth();
    constexpr int64_t stepBytes = panelWidth * 4; // four of k
    Index rowBytes = spec.lhsStride ? e.i64(*spec.lhsStride) : args.lhsStride;
    forTiles(numTiles, [&](int64_t rows, int64_t column) {
      e.callIntrinsic("llvm.x86.tilezero",
                      {getTile(e, TileRegisters::sums(rows, column))});
    });
    for (int64_t k = 0; k < group.size; k += depth) {
      for (int64_t column = 0; column < tileColumns; ++column)
        loadTile(e, TileRegisters::rhs(column),
                 e.advance(rhs, k / 4 * stepBytes + column * tileBytes),
                 e.i64(stepBytes));
      for (int64_t rows = 0; rows < numTiles; ++rows)
        loadTile(e, TileRegisters::lhs(rows),
                 e.advance(args.lhs, rowBytes * (rows * tileRows) + first + k),
                 rowBytes);
      forTiles(numTiles, [&](int64_t rows, int64_t column) {
        e.callIntrinsic("llvm.x86.tdpbsud",
                        {getTile(e, TileRegisters::sums(rows, column)),
                         getTile(e, TileRegisters::lhs(rows)),
                         getTile(e, TileRegisters::rhs(column))});
      });
    }
  }

  void storeSums(int64_t numTiles) {
    forTiles(numTiles, [&](int64_t rows, int64_t column) {
      Value to = e.advance(wholeSums, (rows * tileRows * tileColumns + column) *
                                          tileBytes);
      storeTile(e, TileRegisters::sums(rows, column), to,
                e.i64(tileColumns * tileBytes));
    });
  }

  /// Makes bytes of the numbers of a group, four of k side by side.
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

  /// Adds the sums of a group times its scales.
  void emitScales(Group group) {
    const GroupColumns columns(e, spec, args, group.index, group.size);
    e.forRange(args.rows, [&](Index row) {
      const GroupRow ofRow(e, spec, args, group.index, row);
      for (int64_t v = 0; v < numVectors; ++v) {
        Value whole = e.loadVector(
            e.builder().getI32Type(),
            e.advance(wholeSums, (row * numVectors + v) * tileBytes));
        Value staged = getStaged(row, v);
        Value sum = e.loadVector(e.f32Type(), staged);
        e.storeVector(columns.addGroup(e, ofRow, v, whole, sum), staged);
      }
    });
  }

  /// Two streams: every second line of each.
  void emitPrefetches(Group group) {
    const int64_t perIteration = spec.rhs->getKPerIteration();
    Index first = group.index * (format.group / perIteration);
    for (auto [stream, stride] :
         {std::pair{args.prefetch, args.prefetchStride},
          std::pair{args.prefetchMore, args.prefetchMoreStride}}) {
      Value from = e.advance(stream, first * stride);
      e.forLoop(e.i64(0), stride * (group.size / perIteration), 2 * tileBytes,
                [&](Index at) { e.prefetch(e.advance(from, at)); });
    }
  }

  static void forTiles(int64_t numTiles,
                       function_ref<void(int64_t, int64_t)> visit) {
    for (int64_t rows = 0; rows < numTiles; ++rows)
      for (int64_t column = 0; column < tileColumns; ++column)
        visit(rows, column);
  }

  /// Vectors of a row of sums.
  static constexpr int64_t numVectors = tileColumns;

  CodeEmitter &e;
  const KernelSpec &spec;
  const KernelArgs &args;
  Value stage; ///< [amxRows][32] of f32
  const OperandFormat &format;
  Value wholeSums; ///< of a group, [amxRows][32] of i32
  Value bytes;     ///< of a group, [group/4][32][4]
};

} // namespace

void transom::lower::emitAmxGroups(CodeEmitter &e, const KernelSpec &spec,
                                   const KernelArgs &args, Value stage) {
  AmxGroupsProduct(e, spec, args, stage).emit();
}
