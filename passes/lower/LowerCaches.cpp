// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a decoder does to rows between its projections and attention: angles of
// their positions, the rotation by them, and keys and values into the blocks of
// a cache. A part owns whole rows.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/Rows.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kPanel;
using kern::kPiece;

//===----------------------------------------------------------------------===//
// Rotation
//===----------------------------------------------------------------------===//

void lower::lowerRotation(PhaseEmitter &e, kern::RotationOp op) {
  ArrayRef<int64_t> shape = op.getAngles().getType().getShape();
  int64_t pairs = shape[1] / 2, coarseRows = shape[0] - kPiece;
  e.shareRows(e.rowCount(op.getOuts()), [&](Value index) {
    Value position =
        e.loadI64(e.advance(e.pointer(op.getPositions()), e.mul(index, 8)));
    auto angles = [&](Value row) {
      return Row{e,
                 e.advance(e.weight(op.getAngles()), e.mul(row, shape[1] * 4))};
    };
    Row coarse = angles(e.div(position, e.i64(kPiece))),
        fine = angles(e.add(e.rem(position, e.i64(kPiece)), coarseRows)),
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
  RotatedRow(PhaseEmitter &e, kern::RotaryOp op, Value index)
      : e(e), op(op), in(rowOf(e, op.getInput(), index)),
        out(rowOf(e, op.getOuts(), index)),
        angles(rowOf(e, op.getRotation(), index)) {
    width = *PhaseEmitter::typeOf(op.getInput()).getDims().back().constant() /
            int64_t(op.getHeads());
    pairs =
        *PhaseEmitter::typeOf(op.getRotation()).getDims().back().constant() / 2;
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
  kern::RotaryOp op;
  Row in, out, angles;
  int64_t width, pairs; ///< numbers of a head, and pairs that are rotated
};
} // namespace

void lower::lowerRotary(PhaseEmitter &e, kern::RotaryOp op) {
  e.shareRows(e.rowCount(op.getOuts()),
              [&](Value index) { RotatedRow(e, op, index).emit(); });
}

//===----------------------------------------------------------------------===//
// Append
//===----------------------------------------------------------------------===//

namespace {
/// Writes rows into a cache. Numbers of a head go one by one, since those of a
/// key lie a panel's width apart, and in bf16 those of two positions in turn.
class CacheWriter {
public:
  CacheWriter(PhaseEmitter &e, kern::AppendOp op)
      : e(e), op(op), type(cast<kern::CacheType>(op.getCache().getType())), bf16(type.isBf16()),
        bytes(bf16 ? 2 : 4), stage(e.stackBuffer(kLanes * 4)) {}

  void emitRow(Value row) {
    auto word = [&](int64_t table, int64_t width) {
      Value base = e.loadPtr(e.advance(e.segments(op.getSegments()), table));
      Value at = e.advance(base, e.mul(row, width));
      return e.toI64(e.load(e.builder().getI32Type(), at));
    };
    Value sequence = word(offsetof(transom_segments, row_sequence), 4),
          position = word(offsetof(transom_segments, row_column), 4);
    Value sequences = e.loadPtr(e.advance(
        e.segments(op.getSegments()), offsetof(transom_segments, sequences)));
    Value own = e.advance(sequences, e.mul(sequence, sizeof(transom_sequence)));
    Value first =
        e.loadI64(e.advance(own, offsetof(transom_sequence, first_block)));
    Value index = e.add(first, e.div(position, e.i64(kPiece)));
    Value block = e.advance(
        e.loadPtr(e.advance(e.blocks(op.getCache()), e.mul(index, 8))),
        e.offsetInBlock(op.getCache()));
    Value within = e.rem(position, e.i64(kPiece));
    emitKeys(block, within, row);
    emitValues(e.advance(block, type.getKeyBytes()), within, row);
  }

private:
  /// f32: [256/32][depth][32]; bf16: [256/32][depth/2][32][2].
  void emitKeys(Value keys, Value position, Value row) {
    int64_t line = kPanel * 4;
    Value panel = e.div(position, e.i64(kPanel)),
          lane = e.rem(position, e.i64(kPanel));
    Value first =
        e.advance(keys, e.add(e.mul(panel, type.getDepth() * kPanel * bytes),
                              e.mul(lane, 4)));
    emitHeads(op.getKey(), row, type.getKey(), type.getDepth() * kPiece * bytes,
              first, [&](Value column) {
                if (!bf16)
                  return e.mul(column, line);
                return e.add(e.mul(e.div(column, e.i64(2)), line),
                             e.mul(e.rem(column, e.i64(2)), 2));
              });
  }

  /// f32: [256][value]; bf16: [256/2][value][2].
  void emitValues(Value values, Value position, Value row) {
    int64_t together = bf16 ? 2 : 1;
    Value step = e.div(position, e.i64(together));
    Value first = e.advance(
        values, e.add(e.mul(step, type.getValue() * 4),
                      e.mul(e.rem(position, e.i64(together)), bytes)));
    emitHeads(op.getValue(), row, type.getValue(),
              type.getValue() * kPiece * bytes, first,
              [&](Value column) { return e.mul(column, 4); });
  }

  /// Each head's `width` numbers of a row; `place` tells where a column goes.
  void emitHeads(Value buffer, Value row, int64_t width, int64_t headBytes,
                 Value first, function_ref<Value(Value)> place) {
    Row in = rowOf(e, buffer, row);
    Type word = bf16 ? Type(e.builder().getI16Type()) : e.f32Type();
    e.forLoop(e.i64(0), e.i64(type.getHeads()), 1, [&](Value head) {
      Value target = e.advance(first, e.mul(head, headBytes));
      e.columns(e.i64(width), [&](Value column, Value mask) {
        Value x = in.load(e.add(e.mul(head, width), column), mask);
        e.storeVector(bf16 ? e.roundBf16(x) : x, stage);
        Value count = e.min(e.sub(e.i64(width), column), e.i64(kLanes));
        e.forLoop(e.i64(0), count, 1, [&](Value lane) {
          Value number = e.load(word, e.advance(stage, e.mul(lane, bytes)));
          e.store(number, e.advance(target, place(e.add(column, lane))));
        });
      });
    });
  }

  PhaseEmitter &e;
  kern::AppendOp op;
  kern::CacheType type;
  bool bf16;
  int64_t bytes;
  Value stage; ///< a vector on the stack
};
} // namespace

void lower::lowerAppend(PhaseEmitter &e, kern::AppendOp op) {
  CacheWriter writer(e, op);
  e.shareRows(e.rowCount(op.getKey()), [&](Value row) { writer.emitRow(row); });
}
