// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, pieces over parts: each piece of a unit leaves its product, maxima
// and totals in a slot of its own; the part that finishes a unit's last piece
// merges them in order. For few units with many keys.
#include "passes/lower/attention/AttentionPhase.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kKvBlock;
using kern::kSplitKvSlots;

/// True where pieces have room and units are too few to keep all parts busy.
Value AttentionPhase::spreads() {
  Value batch = batchSize();
  SmallVector<Value> counts = e.forLoop(
      e.i64(0), batch, 1, {e.i64(0), e.i64(0)},
      [&](Value i, ValueRange carried) {
        Sequence s = sequence(i, height);
        Value units = e.mul(s.blocks, s.heads);
        return SmallVector<Value>{e.add(carried[0], units),
                                  e.add(carried[1], e.mul(units, s.pieces))};
      });
  Value fits = e.lessEqual(counts[1], e.mul(e.parts(), kSplitKvSlots));
  if (schedule.kind == kern::AttentionSchedule::Kind::SplitKv)
    return fits;
  // Units that divide among the parts but for an eighth stay whole.
  Value busiest =
      e.div(e.add(counts[0], e.sub(e.parts(), e.i64(1))), e.parts());
  Value few = e.less(counts[0], e.mul(e.parts(), 4));
  Value uneven =
      e.less(e.mul(counts[0], 9), e.mul(e.mul(busiest, e.parts()), 8));
  return e.both(e.both(fits, e.both(few, uneven)),
                e.less(counts[0], counts[1]));
}

void AttentionPhase::emitSpread() {
  auto work = [&](const Sequence &s) {
    // A unit's pieces cost the same, but for the last one.
    Value cost = e.div(e.add(s.cost, e.sub(s.pieces, e.i64(1))), s.pieces);
    return std::pair(e.mul(e.mul(s.blocks, s.heads), s.pieces), cost);
  };
  distribute(work, [&](const Sequence &s, Value index, Value before) {
    Value unit = e.div(index, s.pieces), piece = e.rem(index, s.pieces);
    Value firstSlot = e.add(before, e.mul(unit, s.pieces));
    Unit u = unitOf(s, unit);
    Value firstPiece = e.div(u.from, e.i64(kKvBlock));
    Value lastPiece = e.max(e.ceilDiv(u.to, kKvBlock), e.add(firstPiece, 1));
    Value seen =
        e.both(e.lessEqual(firstPiece, piece), e.less(piece, lastPiece));
    e.ifThen(seen, [&] {
      emitSpreadPiece(u, piece, firstPiece, lastPiece, firstSlot);
    });
  });
}

void AttentionPhase::emitSpreadPiece(const Unit &u, Value index,
                                     Value firstPiece, Value lastPiece,
                                     Value firstSlot) {
  Piece piece = pieceOf(u, index);
  aimPrefetch(piece, u, index, lastPiece);
  Sums slot = slotAt(e.add(firstSlot, index));
  emitScores(u, piece);
  emitSoftmax(u, piece, slot);
  Value count = e.sub(lastPiece, firstPiece);
  e.ifThen(
      e.equal(count, e.i64(1)),
      [&] { emitProduct(u, piece, Value(), slot.total); },
      [&] {
        emitProduct(u, piece, slot.product, Value());
        Value counter =
            e.advance(e.pointer(op.getCounters()), e.mul(firstSlot, 8));
        Value before = e.builder().create<LLVM::AtomicRMWOp>(
            e.location(), LLVM::AtomicBinOp::add, counter, e.i64(1),
            LLVM::AtomicOrdering::acq_rel);
        e.ifThen(e.equal(before, e.sub(count, e.i64(1))), [&] {
          e.store(e.i64(0), counter);
          Sums sums = slotAt(e.add(firstSlot, firstPiece));
          e.forLoop(e.add(firstPiece, 1), lastPiece, 1, [&](Value next) {
            emitMerge(u, sums, slotAt(e.add(firstSlot, next)),
                      e.equal(e.add(next, 1), lastPiece));
          });
        });
      });
}

AttentionPhase::Sums AttentionPhase::slotAt(Value index) {
  Value slot = e.advance(e.pointer(op.getPartials()),
                         e.mul(index, kern::getAttentionSlotFloats(dv) * 4));
  Value numbers = e.advance(slot, kern::kQueryBlock * valueStride * 4);
  return {slot, numbers, e.advance(numbers, kern::kRowValues * 4)};
}
