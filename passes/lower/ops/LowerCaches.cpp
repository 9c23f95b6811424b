// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a decoder does to rows between its projections and attention: rope
// (rotary position embeddings), and appending keys and values to the blocks of
// a cache. A worker owns whole rows.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kKvBlock;
using kern::kPanel;

//===----------------------------------------------------------------------===//
// Rotary position embeddings
//===----------------------------------------------------------------------===//

/// Computes cosines and sines of each row's position from two tables: of
/// multiples of 256 and of the remainder, by the addition theorems.
void lower::lowerOp(PhaseEmitter &e, kern::RopeTableOp op) {
  ArrayRef<int64_t> shape = op.getAngles().getType().getShape();
  int64_t pairs = shape[1] / 2, coarseRows = shape[0] - kKvBlock;
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Index position =
        e.loadI64(e.advance(e.pointer(op.getPositions()), row * 8));
    auto getTableRow = [&](Index index) {
      return Row{e,
                 e.advance(e.weight(op.getAngles()), index * (shape[1] * 4))};
    };
    Row coarse = getTableRow(position / kKvBlock),
        fine = getTableRow(position % kKvBlock + coarseRows),
        out = getRow(e, op.getOuts(), row);
    e.forColumns(e.i64(pairs), [&](Index c, Value m) {
      Index sine = c + pairs;
      Value ca = coarse.load(c, m), sa = coarse.load(sine, m);
      Value cb = fine.load(c, m), sb = fine.load(sine, m);
      out.store(e.fma(ca, cb, e.negF(e.mulF(sa, sb))), c, m);
      out.store(e.fma(sa, cb, e.mulF(ca, sb)), sine, m);
    });
  });
}

namespace {
/// Applies rope to the heads of one row.
class RopeRow {
public:
  RopeRow(PhaseEmitter &e, kern::RopeOp op, Index row)
      : e(e), op(op), in(getRow(e, op.getInput(), row)),
        out(getRow(e, op.getOuts(), row)),
        table(getRow(e, op.getRopeTable(), row)) {
    width = *getBufferType(op.getInput()).getDims().back().constant() /
            int64_t(op.getHeads());
    pairs = *getBufferType(op.getRopeTable()).getDims().back().constant() / 2;
  }

  void emit() {
    e.forRange(op.getHeads(), [&](Index head) {
      Index first = head * width;
      if (op.getInterleaved())
        rotateInterleaved(first);
      else
        rotateHalves(first);
      // Copy the columns that are not rotated.
      Index rest = first + 2 * pairs;
      e.forColumns(e.i64(width - 2 * pairs), [&](Index c, Value m) {
        Index at = rest + c;
        out.store(in.load(at, m), at, m);
      });
    });
  }

private:
  /// Pairs are a column and the one half of the rotated width after it.
  void rotateHalves(Index first) {
    e.forColumns(e.i64(pairs), [&](Index c, Value m) {
      Index low = first + c, high = low + pairs;
      Value x1 = in.load(low, m), x2 = in.load(high, m);
      Value cosine = table.load(c, m), sine = table.load(c + pairs, m);
      out.store(e.fma(x1, cosine, e.negF(e.mulF(x2, sine))), low, m);
      out.store(e.fma(x2, cosine, e.mulF(x1, sine)), high, m);
    });
  }

  /// Pairs are neighbouring columns: a vector holds eight pairs.
  void rotateInterleaved(Index first) {
    SmallVector<int64_t> twice, swapped;
    SmallVector<bool> evens;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      twice.push_back(lane / 2);
      swapped.push_back(lane ^ 1);
      evens.push_back(lane % 2 == 0);
    }
    OpBuilder &b = e.builder();
    Value even = b.create<arith::ConstantOp>(
        e.location(), DenseElementsAttr::get(e.getVectorType(b.getI1Type()),
                                             ArrayRef<bool>(evens)));
    auto shuffle = [&](Value x, ArrayRef<int64_t> lanes) -> Value {
      return b.create<vector::ShuffleOp>(e.location(), x, x, lanes);
    };
    e.forColumns(e.i64(2 * pairs), [&](Index c, Value m) {
      // Load eight cosines and sines, and repeat each for both lanes of a pair.
      Index pair = c / 2;
      Value mask = e.laneMask(min(e.i64(pairs) - pair, 8));
      Value cosine = shuffle(table.load(pair, mask), twice),
            sine = shuffle(table.load(pair + pairs, mask), twice);

      // x * cosine + partner * sine, with a minus in the even lanes.
      Index at = first + c;
      Value x = in.load(at, m);
      Value partner = e.mulF(shuffle(x, swapped), sine);
      partner = e.select(even, e.negF(partner), partner);
      out.store(e.fma(x, cosine, partner), at, m);
    });
  }

  PhaseEmitter &e;
  kern::RopeOp op;
  Row in, out, table;
  int64_t width; ///< columns of a head
  int64_t pairs; ///< that are rotated
};
} // namespace

void lower::lowerOp(PhaseEmitter &e, kern::RopeOp op) {
  e.forWorkerRange(e.numRows(op.getOuts()),
                   [&](Index row) { RopeRow(e, op, row).emit(); });
}

//===----------------------------------------------------------------------===//
// Appending to a cache
//===----------------------------------------------------------------------===//

namespace {
/// Writes rows into a cache. Most elements of a head are stored one by one,
/// from a vector on the stack: those of a key are a panel's width apart, and
/// the values of several positions may be interleaved.
class CacheWriter {
public:
  CacheWriter(PhaseEmitter &e, kern::AppendOp op)
      : e(e), op(op), type(cast<kern::CacheType>(op.getCache().getType())),
        format(OperandLowering::get(type.getFormat())),
        bytes(format.getElementBytes()),
        interleave(format.getFormat().interleave),
        stage(e.stackBuffer(kLanes * 4)) {}

  /// Writes one head of a row.
  void emit(Index theHead, Index row) {
    head = theHead;
    // Find the KV block of the row's position.
    Value ragged = op.getRagged();
    Index sequence = e.loadI32(
        e.raggedTable(ragged, offsetof(transom_ragged_batch, token_sequence)),
        row);
    Index position = e.loadI32(
        e.raggedTable(ragged, offsetof(transom_ragged_batch, token_column)),
        row);
    Value sequences =
        e.raggedTable(ragged, offsetof(transom_ragged_batch, sequences));
    Index first = e.loadI64(
        e.advance(e.advance(sequences, sequence * sizeof(transom_sequence)),
                  offsetof(transom_sequence, first_block)));
    Index index = first + position / kKvBlock;
    Value block = e.loadPtr(e.advance(e.blockTable(op.getCache()), index * 8));
    layer = e.advance(block, e.offsetInBlock(op.getCache()));
    within = position % kKvBlock;

    emitKeys(row);
    emitValues(row);
  }

private:
  /// Where the elements of a row's head are stored: in groups of `groupSize`
  /// consecutive elements, `stride` bytes from one group to the next.
  struct Target {
    Value buffer; ///< of the row
    Value first;  ///< address of the row's first element in head 0
    int64_t width, headBytes, scalesOffset, groupSize, stride;
  };

  /// Keys are [256/32][depth / interleave][32][interleave].
  void emitKeys(Index row) {
    int64_t lane = bytes * interleave;
    Index panel = within / kPanel;
    Index first =
        panel * (type.getDepth() * kPanel * bytes) + within % kPanel * lane;
    emitHead(row, {op.getKey(), e.advance(layer, first), type.getKey(),
                   type.getDepth() * kKvBlock * bytes, type.getKeyScales(),
                   interleave, kPanel * lane});
  }

  /// Values are [256 / interleave][value][interleave].
  void emitValues(Index row) {
    int64_t step = type.getValue() * bytes * interleave;
    Index first = within / interleave * step + within % interleave * bytes;
    Value values = e.advance(layer, type.getKeyBytes());
    emitHead(row, {op.getValue(), e.advance(values, first), type.getValue(),
                   type.getValue() * kKvBlock * bytes, type.getValueScales(),
                   interleave > 1 ? 1 : kLanes, bytes * interleave});
  }

  void emitHead(Index row, const Target &target) {
    Row in = getRow(e, target.buffer, row);
    Index start = head * target.width;
    auto load = [&](Index column, Value mask) {
      return in.load(start + column, mask);
    };
    // Each head of a position has a scale.
    Value scale;
    if (format.getFormat().hasScales()) {
      scale = emitScale(target.width, load);
      Index at = head * kKvBlock + within;
      e.store(scale, e.advance(layer, at * 4 + target.scalesOffset));
      scale = e.splat(scale);
    }
    Value first = e.advance(target.first, head * target.headBytes);
    e.forColumns(e.i64(target.width), [&](Index column, Value mask) {
      emitElements(target, first, column, round(load(column, mask), scale),
                   mask);
    });
  }

  /// Stores 16 elements of a head from `column` on, or fewer with a mask.
  void emitElements(const Target &target, Value first, Index column, Value x,
                    Value mask) {
    // Consecutive elements are stored as a vector.
    if (target.groupSize == kLanes)
      return e.storeVector(x, e.advance(first, column * bytes), mask);

    // Others are stored by groups, as integers of the group's size.
    e.storeVector(x, stage);
    int64_t groupBytes = target.groupSize * bytes;
    Type group = e.builder().getIntegerType(groupBytes * 8);
    Value to = e.advance(first, column / target.groupSize * target.stride);
    if (!mask) {
      for (int64_t i = 0; i < kLanes / target.groupSize; ++i)
        e.store(e.load(group, e.advance(stage, i * groupBytes)),
                e.advance(to, i * target.stride));
      return;
    }
    int64_t count = llvm::divideCeil(target.width % kLanes, target.groupSize);
    e.forRange(count, [&](Index i) {
      e.store(e.load(group, e.advance(stage, i * groupBytes)),
              e.advance(to, i * target.stride));
    });
  }

  /// The largest magnitude of a head's elements divided by the largest stored
  /// number. A NaN or infinity among them makes it NaN, so that it propagates.
  Value emitScale(int64_t width, function_ref<Value(Index, Value)> load) {
    SmallVector<Value> found =
        e.foldColumns(e.i64(width), {e.splat(0.0), e.splat(0.0)},
                      [&](Index column, Value mask, ValueRange carried) {
                        Value x = load(column, mask);
                        return SmallVector<Value>{
                            e.maxF(e.absF(x), carried[0]),
                            e.addF(carried[1], e.mulF(x, e.splat(0.0)))};
                      });
    double divisor = getMaxMagnitude(format.getFormat().element);
    Value largest = e.divF(e.maxLanes(found[0]), e.f32(divisor));
    return e.addF(largest, e.sumLanes(found[1]));
  }

  /// Converts elements to the cache's format.
  Value round(Value x, Value scale) {
    if (scale) {
      Value nonZero = e.cmpLtF(e.splat(0.0), scale);
      x = e.select(nonZero, e.divF(x, scale), e.splat(0.0));
    }
    return format.round(e, x);
  }

  PhaseEmitter &e;
  kern::AppendOp op;
  kern::CacheType type;
  const OperandLowering &format;
  int64_t bytes;      ///< of an element
  int64_t interleave; ///< elements side by side
  Value stage;        ///< a vector on the stack
  Index head;
  Value layer;  ///< the layer's data in the row's KV block
  Index within; ///< the row's position in its KV block
};
} // namespace

void lower::lowerOp(PhaseEmitter &e, kern::AppendOp op) {
  CacheWriter writer(e, op);
  int64_t heads = cast<kern::CacheType>(op.getCache().getType()).getHeads();
  // Head by head, so that the lines of a panel stay in the cache while its rows
  // are written.
  IndexPair rows = e.workerRange(e.numRows(op.getKey()));
  e.forRange(heads, [&](Index head) {
    e.forLoop(rows.first, rows.second, 1,
              [&](Index row) { writer.emit(head, row); });
  });
}
