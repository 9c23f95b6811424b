// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a decoder does to rows between its projections and attention: angles of
// their positions, the rotation by them, and keys and values into the blocks of
// a cache. A part owns whole rows.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kPanel;
using kern::kKvBlock;

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

void lower::lowerRopeTable(PhaseEmitter &e, kern::RopeTableOp op) {
  ArrayRef<int64_t> shape = op.getAngles().getType().getShape();
  int64_t pairs = shape[1] / 2, coarseRows = shape[0] - kKvBlock;
  e.shareRows(e.rowCount(op.getOuts()), [&](Value index) {
    Value position =
        e.loadI64(e.advance(e.pointer(op.getPositions()), e.mul(index, 8)));
    auto angles = [&](Value row) {
      return Row{e,
                 e.advance(e.weight(op.getAngles()), e.mul(row, shape[1] * 4))};
    };
    Row coarse = angles(e.div(position, e.i64(kKvBlock))),
        fine = angles(e.add(e.rem(position, e.i64(kKvBlock)), coarseRows)),
        out = rowOf(e, op.getOuts(), index);
    e.columns(e.i64(pairs), [&](Value c, Value m) {
      Value sine = e.add(c, pairs);
      Value ca = coarse.load(c, m), sa = coarse.load(sine, m);
      Value cb = fine.load(c, m), sb = fine.load(sine, m);
      out.store(e.fma(ca, cb, e.negF(e.mulF(sa, sb))), c, m);
      out.store(e.fma(sa, cb, e.mulF(ca, sb)), sine, m);
    });
  });
}

namespace {
/// Rotates the heads of one row.
class RotatedRow {
public:
  RotatedRow(PhaseEmitter &e, kern::RopeOp op, Value index)
      : e(e), op(op), in(rowOf(e, op.getInput(), index)),
        out(rowOf(e, op.getOuts(), index)),
        angles(rowOf(e, op.getRopeTable(), index)) {
    width = *PhaseEmitter::typeOf(op.getInput()).getDims().back().constant() /
            int64_t(op.getHeads());
    pairs =
        *PhaseEmitter::typeOf(op.getRopeTable()).getDims().back().constant() /
        2;
  }

  void emit() {
    e.forLoop(e.i64(0), e.i64(op.getHeads()), 1, [&](Value head) {
      Value first = e.mul(head, width);
      if (op.getInterleaved())
        rotateNeighbours(first);
      else
        rotateHalves(first);
      Value rest = e.add(first, 2 * pairs);
      e.columns(e.i64(width - 2 * pairs), [&](Value c, Value m) {
        Value at = e.add(rest, c);
        out.store(in.load(at, m), at, m);
      });
    });
  }

private:
  void rotateHalves(Value first) {
    e.columns(e.i64(pairs), [&](Value c, Value m) {
      Value low = e.add(first, c), high = e.add(low, pairs);
      Value x1 = in.load(low, m), x2 = in.load(high, m);
      Value cosine = angles.load(c, m), sine = angles.load(e.add(c, pairs), m);
      out.store(e.fma(x1, cosine, e.negF(e.mulF(x2, sine))), low, m);
      out.store(e.fma(x2, cosine, e.mulF(x1, sine)), high, m);
    });
  }

  /// Eight pairs at a time, of which one stands in two lanes.
  void rotateNeighbours(Value first) {
    SmallVector<int64_t> twice, swapped;
    SmallVector<bool> evens;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      twice.push_back(lane / 2);
      swapped.push_back(lane ^ 1);
      evens.push_back(lane % 2 == 0);
    }
    OpBuilder &b = e.builder();
    Value even = b.create<arith::ConstantOp>(
        e.location(), DenseElementsAttr::get(e.vectorOf(b.getI1Type()),
                                             ArrayRef<bool>(evens)));
    auto shuffle = [&](Value x, ArrayRef<int64_t> lanes) -> Value {
      return b.create<vector::ShuffleOp>(e.location(), x, x, lanes);
    };
    e.columns(e.i64(2 * pairs), [&](Value c, Value m) {
      Value pair = e.div(c, e.i64(2));
      Value some = e.laneMask(e.min(e.sub(e.i64(pairs), pair), e.i64(8)));
      Value cosine = shuffle(angles.load(pair, some), twice),
            sine = shuffle(angles.load(e.add(pair, pairs), some), twice);
      Value at = e.add(first, c), x = in.load(at, m);
      Value turned = e.mulF(shuffle(x, swapped), sine);
      turned = e.select(even, e.negF(turned), turned);
      out.store(e.fma(x, cosine, turned), at, m);
    });
  }

  PhaseEmitter &e;
  kern::RopeOp op;
  Row in, out, angles;
  int64_t width, pairs; ///< numbers of a head, and pairs that are rotated
};
} // namespace

void lower::lowerRope(PhaseEmitter &e, kern::RopeOp op) {
  e.shareRows(e.rowCount(op.getOuts()),
              [&](Value index) { RotatedRow(e, op, index).emit(); });
}

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

namespace {
/// Writes rows into a cache. Most numbers of a head go one by one, since those
/// of a key lie a panel's width apart, and in bf16 values of two positions in
/// turn; they pass through a vector on the stack.
class CacheWriter {
public:
  CacheWriter(PhaseEmitter &e, kern::AppendOp op)
      : e(e), op(op), type(cast<kern::CacheType>(op.getCache().getType())),
        bytes(type.getElementBytes()), stage(e.stackBuffer(kLanes * 4)) {}

  /// A head of a row.
  void emit(Value theHead, Value row) {
    head = theHead;
    auto word = [&](int64_t table) {
      Value base = e.loadPtr(e.advance(e.ragged(op.getRagged()), table));
      return e.toI64(
          e.load(e.builder().getI32Type(), e.advance(base, e.mul(row, 4))));
    };
    Value sequence = word(offsetof(transom_ragged_batch, token_sequence)),
          position = word(offsetof(transom_ragged_batch, token_column));
    Value sequences = e.loadPtr(e.advance(
        e.ragged(op.getRagged()), offsetof(transom_ragged_batch, sequences)));
    Value first = e.loadI64(e.advance(
        e.advance(sequences, e.mul(sequence, sizeof(transom_sequence))),
        offsetof(transom_sequence, first_block)));
    Value index = e.add(first, e.div(position, e.i64(kKvBlock)));
    Value block =
        e.loadPtr(e.advance(e.blocks(op.getCache()), e.mul(index, 8)));
    layer = e.advance(block, e.offsetInBlock(op.getCache()));
    within = e.rem(position, e.i64(kKvBlock));
    emitKeys(row);
    emitValues(row);
  }

private:
  /// Where the numbers of a row's head go: `together` of them side by side,
  /// from one such unit to the next `step` bytes.
  struct Target {
    Value buffer, first;
    int64_t width, headBytes, scales, together, step;
  };

  /// [256/32][depth][32]; bf16: [256/32][depth/2][32][2].
  void emitKeys(Value row) {
    int64_t together = type.isBf16() ? 2 : 1, lane = bytes * together;
    Value panel = e.div(within, e.i64(kPanel));
    Value first = e.add(e.mul(panel, type.getDepth() * kPanel * bytes),
                        e.mul(e.rem(within, e.i64(kPanel)), lane));
    emitHead(row, {op.getKey(), e.advance(layer, first), type.getKey(),
                   type.getDepth() * kKvBlock * bytes, type.getKeyScales(),
                   together, kPanel * lane});
  }

  /// [256][value]; bf16: [256/2][value][2].
  void emitValues(Value row) {
    int64_t keys = type.isBf16() ? 2 : 1;
    Value step = e.div(within, e.i64(keys));
    Value first = e.add(e.mul(step, type.getValue() * bytes * keys),
                        e.mul(e.rem(within, e.i64(keys)), bytes));
    Value values = e.advance(layer, type.getKeyBytes());
    emitHead(row, {op.getValue(), e.advance(values, first), type.getValue(),
                   type.getValue() * kKvBlock * bytes, type.getValueScales(),
                   type.isBf16() ? 1 : kLanes, bytes * keys});
  }

  void emitHead(Value row, const Target &target) {
    Row in = rowOf(e, target.buffer, row);
    Value start = e.mul(head, target.width);
    auto load = [&](Value column, Value mask) {
      return in.load(e.add(start, column), mask);
    };
    Value scale;
    if (type.isInt8()) {
      scale = emitScale(target.width, load);
      Value at = e.add(e.mul(head, kKvBlock), within);
      e.store(scale, e.advance(layer, e.add(e.mul(at, 4), target.scales)));
      scale = e.splat(scale);
    }
    Value first = e.advance(target.first, e.mul(head, target.headBytes));
    e.columns(e.i64(target.width), [&](Value column, Value mask) {
      emitNumbers(target, first, column, rounded(load(column, mask), scale),
                  mask);
    });
  }

  /// 16 numbers of a head, from `column` on, or fewer where there is a mask.
  void emitNumbers(const Target &target, Value first, Value column, Value x,
                   Value mask) {
    if (target.together == kLanes)
      return e.storeVector(x, e.advance(first, e.mul(column, bytes)), mask);
    e.storeVector(x, stage);
    int64_t unitBytes = target.together * bytes;
    Type unit = e.builder().getIntegerType(unitBytes * 8);
    Value to = e.advance(
        first, e.mul(e.div(column, e.i64(target.together)), target.step));
    if (!mask) {
      for (int64_t i = 0; i < kLanes / target.together; ++i)
        e.store(e.load(unit, e.advance(stage, i * unitBytes)),
                e.advance(to, i * target.step));
      return;
    }
    int64_t count = llvm::divideCeil(target.width % kLanes, target.together);
    e.forLoop(e.i64(0), e.i64(count), 1, [&](Value i) {
      e.store(e.load(unit, e.advance(stage, e.mul(i, unitBytes))),
              e.advance(to, e.mul(i, target.step)));
    });
  }

  /// The largest size of a head's numbers over 127; a NaN where one of them is
  /// not finite, so that it is not lost.
  Value emitScale(int64_t width, function_ref<Value(Value, Value)> load) {
    SmallVector<Value> found =
        e.foldColumns(e.i64(width), {e.splat(0.0), e.splat(0.0)},
                      [&](Value column, Value mask, ValueRange carried) {
                        Value x = load(column, mask);
                        return SmallVector<Value>{
                            e.maxF(e.absF(x), carried[0]),
                            e.addF(carried[1], e.mulF(x, e.splat(0.0)))};
                      });
    Value largest = e.divF(e.maxLanes(found[0]), e.f32(127));
    return e.addF(largest, e.sumLanes(found[1]));
  }

  /// Numbers in the cache's type.
  Value rounded(Value x, Value scale) {
    if (type.isBf16())
      return e.roundBf16(x);
    if (!type.isInt8())
      return x;
    Value any = e.lessF(e.splat(0.0), scale);
    return e.roundInt8(e.select(any, e.divF(x, scale), e.splat(0.0)));
  }

  PhaseEmitter &e;
  kern::AppendOp op;
  kern::CacheType type;
  int64_t bytes;
  Value stage; ///< a vector on the stack
  Value head;
  Value layer, within; ///< the layer in the row's block, the position in it
};
} // namespace

void lower::lowerAppend(PhaseEmitter &e, kern::AppendOp op) {
  CacheWriter writer(e, op);
  int64_t heads = cast<kern::CacheType>(op.getCache().getType()).getHeads();
  // Rows of a head follow each other, so that a panel's lines stay near.
  auto [from, to] = e.share(e.rowCount(op.getKey()));
  e.forLoop(e.i64(0), e.i64(heads), 1, [&, from = from, to = to](Value head) {
    e.forLoop(from, to, 1, [&](Value row) { writer.emit(head, row); });
  });
}
