// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, the work and its sharing: each part takes the units whose cost,
// added up in order, begins in its share. A piece of keys gives scores, their
// maximum, the probabilities and their sum, and a product with the values that
// starts from zero; pieces merge in order.
#include "passes/lower/attention/AttentionPhase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kPanel;
using kern::kKvBlock;
using kern::kQueryBlock;

AttentionPhase::AttentionPhase(PhaseEmitter &e, kern::AttentionOp op)
    : e(e), op(op), schedule(op.getParsedSchedule()) {
  heads = op.getHeads();
  group = heads / op.getKvHeads();
  kern::BufferType query = PhaseEmitter::typeOf(op.getQuery());
  dk = *query.getDims().back().constant() / heads;
  dv = *PhaseEmitter::typeOf(op.getOuts()).getDims().back().constant() / heads;
  bf16 = query.getElementType().isBF16();
  int8 = op.getCache() && op.getCacheType().isInt8();
  valueStride = llvm::alignTo(dv, kern::kPanel);
  int64_t pieces = schedule.isTwoPass() ? kern::kTwoPassBlocks : 1;
  scoreStride = kern::getScoreStride(schedule);
  Value stride = e.mul(e.rowStride(op.getScratch()), 4);
  Value next = e.advance(e.pointer(op.getScratch()), e.mul(e.part(), stride));
  auto take = [&](int64_t floats) {
    Value taken = next;
    next = e.advance(next, floats * 4);
    return taken;
  };
  scores = take(kQueryBlock * scoreStride);
  maxima = take(pieces * kQueryBlock * kLanes);
  sums.product = take(kQueryBlock * valueStride);
  own.product = take(kQueryBlock * valueStride);
  for (Value *numbers :
       {&sums.maximum, &sums.total, &own.maximum, &own.total, &before, &after})
    *numbers = take(kern::kRowValues);
}

void AttentionPhase::emit() {
  height = blockHeight();
  auto units = [&] {
    distribute(
        [&](const Sequence &s) {
          return std::pair(e.mul(s.blocks, s.heads), s.cost);
        },
        [&](const Sequence &s, Value unit, Value) { emitUnit(s, unit); });
  };
  if (!op.getPartials())
    return units();
  e.ifThen(spreads(), [&] { emitSpread(); }, units);
}

Value AttentionPhase::batchSize() {
  return e.loadI64(e.advance(e.ragged(op.getQueryRagged()),
                             offsetof(transom_ragged_batch, num_sequences)));
}

/// Rows of the highest block: what is forced; else as many as there are, or
/// fewer where so few units would leave parts idle.
Value AttentionPhase::blockHeight() {
  if (schedule.maxRows)
    return e.i64(schedule.maxRows);
  // The rows of a causal block compute scores up to the last one's.
  int64_t highest = op.getCausal() ? kQueryBlock / 2 : kQueryBlock;
  Value rows = e.mul(e.rowCount(op.getQuery()), heads), batch = batchSize();
  Value many = e.lessEqual(e.mul(e.parts(), 8 * highest), rows);
  Value candidates = e.select(many, e.i64(0), e.i64(3));
  return e.forLoop(
      e.i64(0), candidates, 1, {e.i64(highest), e.i64(INT64_MAX)},
      [&](Value i, ValueRange best) {
        Value tall = e.div(e.i64(highest), e.add(i, 1));
        SmallVector<Value> sums = e.forLoop(
            e.i64(0), batch, 1, {e.i64(0), e.i64(0)},
            [&](Value index, ValueRange carried) {
              Sequence s = sequence(index, tall);
              return SmallVector<Value>{
                  e.add(carried[0], e.mul(s.blocks, s.heads)),
                  e.add(carried[1], e.mul(e.ceilDiv(s.keys, kPanel), kPanel))};
            });
        // The busiest part's units, each with average rows and keys.
        Value units = e.max(sums[0], e.i64(1));
        Value keys = e.div(sums[1], e.max(batch, e.i64(1)));
        Value most = e.div(e.add(units, e.sub(e.parts(), e.i64(1))), e.parts());
        Value cost =
            e.mul(most, e.add(e.mul(e.div(rows, units), keys), blockCost()));
        Value better = e.less(cost, best[1]);
        return SmallVector<Value>{e.select(better, tall, best[0]),
                                  e.select(better, cost, best[1])};
      })[0];
}

/// Shares out items whose number and cost `work` gives for each sequence;
/// `body` is given a sequence, an item of it and the number of items before.
void AttentionPhase::distribute(
    function_ref<std::pair<Value, Value>(const Sequence &)> work,
    function_ref<void(const Sequence &, Value, Value)> body) {
  Value batch = batchSize();
  Value whole =
      e.forLoop(e.i64(0), batch, 1, e.i64(0), [&](Value i, ValueRange carried) {
        auto [count, cost] = work(sequence(i, height));
        return SmallVector<Value>{e.add(carried[0], e.mul(count, cost))};
      })[0];
  auto [low, high] = e.share(whole);
  e.forLoop(e.i64(0), batch, 1, {e.i64(0), e.i64(0)},
            [&, low = low, high = high](Value i, ValueRange carried) {
              Sequence s = sequence(i, height);
              auto [count, cost] = work(s);
              Value before = carried[0];
              auto firstFrom = [&, cost = cost, count = count](Value bound) {
                Value distance = e.max(e.sub(bound, before), e.i64(0));
                Value items =
                    e.div(e.add(distance, e.sub(cost, e.i64(1))), cost);
                return e.min(items, count);
              };
              e.forLoop(firstFrom(low), firstFrom(high), 1,
                        [&](Value item) { body(s, item, carried[1]); });
              return SmallVector<Value>{e.add(before, e.mul(count, cost)),
                                        e.add(carried[1], count)};
            });
}

AttentionPhase::Unit AttentionPhase::unitOf(const Sequence &s, Value index) {
  Value count = s.blocks, head = e.div(index, count),
        block = e.rem(index, count);
  // The first rows see few keys, the last many: taken in turn, neighbours cost
  // the same together.
  if (op.getCausal() && !op.getWindow()) {
    Value half = e.div(block, e.i64(2));
    Value odd = e.equal(e.rem(block, e.i64(2)), e.i64(1));
    block = e.select(odd, e.sub(e.sub(count, e.i64(1)), half), half);
  }
  Value first = e.div(e.mul(block, s.lines), count);
  Value end = e.div(e.mul(e.add(block, 1), s.lines), count);
  Value from = e.i64(0), to = s.keys;
  if (bounded()) {
    if (op.getByColumn()) {
      LineRanges ranges = lineRanges(s, first, end);
      from = ranges.someFrom;
      to = e.max(ranges.someTo, from);
    } else {
      from = e.max(visible(s, first).first, e.i64(0));
      to = e.max(visible(s, e.sub(end, e.i64(1))).second, from);
    }
  }
  Value next = e.min(e.add(index, 1), e.sub(e.mul(count, s.heads), e.i64(1)));
  return {s, head, first, e.sub(end, first), from, to, next};
}

void AttentionPhase::emitUnit(const Sequence &s, Value index) {
  Unit u = unitOf(s, index);
  prefetchUnit(u);
  Value firstPiece = e.div(u.from, e.i64(kKvBlock));
  Value lastPiece = e.max(e.ceilDiv(u.to, kKvBlock), e.add(firstPiece, 1));
  Value kept;
  if (schedule.isTwoPass()) {
    kept = e.lessEqual(e.sub(lastPiece, firstPiece), e.i64(kern::kTwoPassBlocks));
    e.ifThen(kept, [&] { emitKeptScores(u, firstPiece, lastPiece); });
  }
  emitPieces(u, firstPiece, lastPiece, kept);
}

/// Asks for the lines of a head in rows that lie a stride (of bytes) apart: too
/// far for the processor to foresee.
void AttentionPhase::prefetchRows(Value first, Value rows, Value stride,
                                  int64_t bytes) {
  e.forLoop(e.i64(0), rows, 1, [&](Value row) {
    Value line = e.advance(first, e.mul(row, stride));
    for (int64_t at = 0; at < bytes; at += 64)
      e.prefetch(e.advance(line, at));
  });
}

/// Asks for the results' lines and the queries of the next unit.
void AttentionPhase::prefetchUnit(const Unit &u) {
  int64_t outBytes = PhaseEmitter::typeOf(op.getOuts()).getElementBytes();
  int64_t bytes = bf16 ? 2 : 4;
  prefetchRows(outLine(u, e.i64(0)), u.rows,
               e.mul(lineStride(u.s, op.getOuts(), dv), outBytes),
               dv * outBytes);
  Unit next = unitOf(u.s, u.next);
  prefetchRows(queryLine(next, e.i64(0)), next.rows,
               e.mul(lineStride(u.s, op.getQuery(), dk), bytes), dk * bytes);
}

/// What is read after a piece: the unit's next piece, or the next unit's first.
void AttentionPhase::aimPrefetch(Piece &piece, const Unit &u, Value index,
                                 Value lastPiece) {
  Unit next = unitOf(u.s, u.next);
  Value more = e.less(e.add(index, 1), lastPiece);
  Value head = e.select(more, u.head, next.head);
  Value first = e.sub(next.from, e.rem(next.from, e.i64(kKvBlock)));
  Value key = e.select(more, e.add(piece.base, kKvBlock), first);
  piece.nextKeys = keysFrom(u.s, head, key);
  piece.nextValues = valuesFrom(u.s, head, key);
}

AttentionPhase::Piece AttentionPhase::pieceOf(const Unit &u, Value index) {
  Value base = e.mul(index, kKvBlock);
  Value end = e.min(u.to, e.add(base, kKvBlock));
  Value start = base;
  if (op.getWindow()) {
    Value skipped = e.max(e.sub(u.from, base), e.i64(0));
    start = e.add(base, e.sub(skipped, e.rem(skipped, e.i64(kern::kPanel))));
  }
  Value keys = keysFrom(u.s, u.head, base),
        values = valuesFrom(u.s, u.head, base);
  Piece piece{base, start, end,    keys,   values, {},
              {},   keys,  values, scores, maxima};
  if (int8) {
    kern::CacheType cache = op.getCacheType();
    piece.keyScales = scalesFrom(u.s, u.head, base, cache.getKeyScales());
    piece.valueScales = scalesFrom(u.s, u.head, base, cache.getValueScales());
  }
  return piece;
}

void AttentionPhase::emitKeptScores(const Unit &u, Value firstPiece,
                                    Value lastPiece) {
  e.forLoop(firstPiece, lastPiece, 1, [&](Value index) {
    Piece piece = pieceOf(u, index);
    aimPrefetch(piece, u, index, lastPiece);
    Value kept = e.sub(index, firstPiece);
    piece.scores = e.advance(scores, e.mul(kept, kKvBlock * 4));
    piece.maxima = e.advance(maxima, e.mul(kept, kQueryBlock * kLanes * 4));
    emitScores(u, piece);
  });
}

void AttentionPhase::emitPieces(const Unit &u, Value firstPiece,
                                Value lastPiece, Value kept) {
  Value alone = e.equal(e.sub(lastPiece, firstPiece), e.i64(1));
  e.forLoop(firstPiece, lastPiece, 1, [&](Value index) {
    Piece piece = pieceOf(u, index);
    aimPrefetch(piece, u, index, lastPiece);
    if (kept) {
      Value place = e.select(kept, e.sub(index, firstPiece), e.i64(0));
      piece.scores = e.advance(scores, e.mul(place, kKvBlock * 4));
      piece.maxima = e.advance(maxima, e.mul(place, kQueryBlock * kLanes * 4));
      e.ifThen(e.inverse(kept), [&] { emitScores(u, piece); });
    } else {
      emitScores(u, piece);
    }
    // The first piece is where the sums start.
    Value first = e.equal(index, firstPiece);
    Sums target{e.select(first, sums.product, own.product),
                e.select(first, sums.maximum, own.maximum),
                e.select(first, sums.total, own.total)};
    emitSoftmax(u, piece, target);
    e.ifThen(
        alone, [&] { emitProduct(u, piece, Value(), target.total); },
        [&] {
          emitProduct(u, piece, target.product, Value());
          e.ifThen(e.inverse(first), [&] {
            emitMerge(u, sums, own, e.equal(e.add(index, 1), lastPiece));
          });
        });
  });
}

void lower::lowerAttention(PhaseEmitter &e, kern::AttentionOp op) {
  AttentionPhase(e, op).emit();
}
