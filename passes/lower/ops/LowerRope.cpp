// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rotary position embeddings: the rope table for a step's positions, and its
// application to the heads in each row. A worker owns whole rows.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Computes cosines and sines for each row's position from two tables, for
/// multiples of 256 and for the remainder, by the addition theorems.
static void lowerRopeTable(PhaseEmitter &e, kern::RopeTableOp op) {
  ArrayRef<int64_t> shape = op.getAngles().getType().getShape();
  int64_t pairs = shape[1] / 2, coarseRows = shape[0] - kvBlockSize;
  e.forWorkerRange(e.numRows(op.getOuts()), [&](Index row) {
    Index position =
        e.loadI64(e.advance(e.pointer(op.getPositions()), row * 8));
    auto getTableRow = [&](Index index) {
      return Row{e,
                 e.advance(e.weight(op.getAngles()), index * (shape[1] * 4))};
    };
    Row coarse = getTableRow(position / kvBlockSize),
        fine = getTableRow(position % kvBlockSize + coarseRows),
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
/// Applies rope to the heads in one row.
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
  /// Pairs are a column and the one half the rotated width after it.
  void rotateHalves(Index first) {
    e.forColumns(e.i64(pairs), [&](Index c, Value m) {
      Index low = first + c, high = low + pairs;
      Value x1 = in.load(low, m), x2 = in.load(high, m);
      Value cosine = table.load(c, m), sine = table.load(c + pairs, m);
      out.store(e.fma(x1, cosine, e.negF(e.mulF(x2, sine))), low, m);
      out.store(e.fma(x2, cosine, e.mulF(x1, sine)), high, m);
    });
  }

  /// Pairs are adjacent columns: a vector contains eight pairs.
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
      // Load eight cosines and sines, and repeat each for both lanes in a pair.
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
  int64_t width; ///< columns per head
  int64_t pairs; ///< rotated pairs
};
} // namespace

static void lowerRope(PhaseEmitter &e, kern::RopeOp op) {
  e.forWorkerRange(e.numRows(op.getOuts()),
                   [&](Index row) { RopeRow(e, op, row).emit(); });
}

void lower::addRopeLowerings(Lowerings &lowerings) {
  lowerings.add<kern::RopeTableOp, lowerRopeTable>();
  lowerings.add<kern::RopeOp, lowerRope>();
}
