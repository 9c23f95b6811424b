// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention: for each query block of a head, keys in pieces of 256. A piece
// gives scores, their maximum, the probabilities and their sum, and a product
// with the values that starts from zero; pieces merge in order. Which part
// does which block cannot be seen in the result.
#include "passes/lower/Phase.h"
#include "passes/lower/VectorMath.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kQueryBlock;
using kern::kScoreStride;

namespace {
constexpr double kLog2E = 1.4426950408889634;

/// One sequence as a query and as keys.
struct Sequence {
  Value firstRow, rows, firstKeyRow, keys, keyBase, past, index;
};

/// Emits one attention operation.
class AttentionPhase {
public:
  AttentionPhase(PhaseEmitter &e, kern::AttentionOp op) : e(e), op(op) {
    heads = op.getHeads();
    group = heads / op.getKvHeads();
    dk = *PhaseEmitter::typeOf(op.getQuery()).getDims().back().constant() /
         heads;
    dv =
        *PhaseEmitter::typeOf(op.getOuts()).getDims().back().constant() / heads;
    valueStride = llvm::alignTo(dv, kern::kPanel);
    Value stride = e.mul(e.rowStride(op.getScratch()), 4);
    scores = e.advance(e.pointer(op.getScratch()), e.mul(e.part(), stride));
    product = e.advance(scores, kQueryBlock * kScoreStride * 4);
    sum = e.advance(product, kQueryBlock * valueStride * 4);
    maxima = e.advance(sum, kQueryBlock * valueStride * 4);
    totals = e.advance(maxima, 64 * 4);
  }

  /// Each part takes the query blocks whose cost, added up in order, begins in
  /// its share of the whole.
  void emit() {
    Value batch =
        field(op.getQuerySegments(), offsetof(transom_segments, batch));
    Value whole = e.forLoop(
        e.i64(0), batch, 1, e.i64(0), [&](Value i, ValueRange carried) {
          Sequence s = sequence(i);
          return SmallVector<Value>{
              e.add(carried[0], e.mul(units(s), unitCost(s)))};
        })[0];
    auto [low, high] = e.share(whole);
    e.forLoop(
        e.i64(0), batch, 1, e.i64(0),
        [&, low = low, high = high](Value i, ValueRange carried) {
          Sequence s = sequence(i);
          Value cost = unitCost(s), count = units(s);
          auto firstFrom = [&](Value bound) {
            Value distance = e.max(e.sub(bound, carried[0]), e.i64(0));
            return e.min(e.div(e.add(distance, e.sub(cost, e.i64(1))), cost),
                         count);
          };
          e.forLoop(firstFrom(low), firstFrom(high), 1,
                    [&](Value unit) { emitUnit(s, unit); });
          return SmallVector<Value>{e.add(carried[0], e.mul(count, cost))};
        });
  }

private:
  Value field(Value segments, int64_t offset) {
    return e.loadI64(e.advance(e.segments(segments), offset));
  }

  Sequence sequence(Value i) {
    auto at = [&](Value segments) {
      Value table = e.loadPtr(e.advance(e.segments(segments),
                                        offsetof(transom_segments, sequences)));
      return e.advance(table, e.mul(i, sizeof(transom_sequence)));
    };
    Value query = at(op.getQuerySegments()), key = at(op.getKeySegments());
    auto get = [&](Value base, int64_t offset) {
      return e.loadI64(e.advance(base, offset));
    };
    return {get(query, offsetof(transom_sequence, first_row)),
            get(query, offsetof(transom_sequence, rows)),
            get(key, offsetof(transom_sequence, first_row)),
            get(key, offsetof(transom_sequence, keys)),
            get(key, offsetof(transom_sequence, key_base)),
            get(query, offsetof(transom_sequence, past)),
            i};
  }

  Value blocks(const Sequence &s) { return e.ceilDiv(s.rows, kQueryBlock); }
  Value units(const Sequence &s) { return e.mul(blocks(s), heads); }
  Value unitCost(const Sequence &s) { return e.add(s.keys, 16); }

  /// One query block of one head.
  void emitUnit(const Sequence &s, Value unit) {
    Value count = blocks(s), head = e.div(unit, count),
          block = e.rem(unit, count);
    Value first = e.div(e.mul(block, s.rows), count);
    Value rows = e.sub(e.div(e.mul(e.add(block, 1), s.rows), count), first);
    clear(rows);
    e.forLoop(e.i64(0), e.ceilDiv(s.keys, kern::kPiece), 1, [&](Value piece) {
      Value firstKey = e.mul(piece, kern::kPiece);
      Value keys = e.min(e.sub(s.keys, firstKey), e.i64(kern::kPiece));
      emitScores(s, head, first, rows, firstKey, keys);
      e.forLoop(e.i64(0), rows, 1, [&](Value row) {
        emitSoftmax(s, head, first, row, firstKey, keys);
      });
      emitProduct(s, head, rows, firstKey, keys);
      e.forLoop(e.i64(0), rows, 1, [&](Value row) { merge(row); });
    });
    e.forLoop(e.i64(0), rows, 1,
              [&](Value row) { finish(s, head, first, row); });
  }

  void clear(Value rows) {
    e.forLoop(e.i64(0), rows, 1, [&](Value row) {
      e.store(e.f32(-INFINITY), e.advance(maxima, e.mul(row, 8)));
      e.store(e.f32(0), e.advance(totals, e.mul(row, 8)));
      e.forLoop(e.i64(0), e.i64(valueStride), kLanes, [&](Value column) {
        e.storeVector(e.splat(0.0), cell(sum, row, valueStride, column));
      });
    });
  }

  Value cell(Value base, Value row, int64_t stride, Value column) {
    return e.advance(base, e.mul(e.add(e.mul(row, stride), column), 4));
  }

  /// Chains over dk for all keys of the piece, a panel of 32 keys at a time.
  void emitScores(const Sequence &s, Value head, Value first, Value rows,
                  Value firstKey, Value keys) {
    kern::BufferType queryType = PhaseEmitter::typeOf(op.getQuery());
    int64_t width =
        *PhaseEmitter::typeOf(op.getKey()).getDims().back().constant();
    KernelSpec spec;
    spec.k = dk;
    spec.lhsStride = queryType.getRowStride().constant();
    spec.rhsStride = kern::kPanel;
    Value keyHead = e.div(head, e.i64(group));
    Value queryRow = e.add(s.firstRow, first);
    Value position = e.add(s.keyBase, firstKey);
    e.forLoop(e.i64(0), keys, e.kernels().tileColumns(), [&](Value column) {
      Value key = e.add(position, column);
      Value panel = e.div(key, e.i64(kern::kPanel)),
            lane = e.rem(key, e.i64(kern::kPanel));
      Value offset = e.add(
          e.mul(e.add(e.mul(panel, width), e.mul(keyHead, dk)), kern::kPanel),
          lane);
      e.tiles(rows, [&](Value row, Value height) {
        KernelArgs args;
        args.lhsStride = e.rowStride(op.getQuery());
        Value query =
            e.add(e.mul(e.add(queryRow, row), args.lhsStride), e.mul(head, dk));
        args.lhs = e.advance(e.pointer(op.getQuery()), e.mul(query, 4));
        args.rhs = e.advance(e.pointer(op.getKey()), e.mul(offset, 4));
        args.output = cell(scores, row, kScoreStride, column);
        args.outputStride = e.i64(kScoreStride);
        args.columns = e.i64(
            kern::kPanel); // what lies behind the last key is masked below
        e.kernels().call(e, spec, height, args);
      });
    });
  }

  /// The range of keys of the sequence that a row may see.
  std::pair<Value, Value> visible(const Sequence &s, Value queryIndex) {
    Value from = e.i64(0), to = s.keys;
    // Queries of other segments are aligned with the last keys.
    bool own = op.getQuerySegments().getType() == op.getKeySegments().getType();
    Value position =
        own ? queryIndex : e.add(queryIndex, e.sub(s.keys, s.rows));
    if (op.getCausal())
      to = e.min(to, e.add(position, 1));
    if (op.getWindow()) {
      from = e.max(from, e.sub(position, e.i64(op.getWindow() - 1)));
      if (!op.getCausal())
        to = e.min(to, e.add(position, op.getWindow()));
    }
    return {from, to};
  }

  /// Scores of one row: scaled, capped, masked; then exponentials and their
  /// sum.
  void emitSoftmax(const Sequence &s, Value head, Value first, Value row,
                   Value firstKey, Value keys) {
    Value queryIndex = e.add(first, row);
    auto [from, to] = visible(s, queryIndex);
    Value line = cell(scores, row, kScoreStride, e.i64(0));
    Value low = e.sub(from, firstKey), high = e.min(e.sub(to, firstKey), keys);
    Value lowest = e.splat(-INFINITY);
    Value lanes = e.forLoop(
        e.i64(0), keys, kLanes, lowest, [&](Value column, ValueRange carried) {
          Value at = e.advance(line, e.mul(column, 4));
          Value t = transform(e.loadVector(e.f32Type(), at));
          Value seen = e.laneMask(e.sub(high, column));
          t = addMask(t, s, head, queryIndex, e.add(firstKey, column), seen);
          if (op.getWindow())
            seen = e.and_(seen, e.not_(e.laneMask(e.sub(low, column))));
          t = e.select(seen, t, lowest);
          e.storeVector(t, at);
          return SmallVector<Value>{e.maxF(t, carried[0])};
        })[0];
    Value maximum = e.maxLanes(lanes);
    e.store(maximum, e.advance(e.advance(maxima, 4), e.mul(row, 8)));
    // Without a visible key each score is minus infinity, and stays so.
    Value shift =
        e.select(e.lessF(e.f32(-INFINITY), maximum), maximum, e.f32(0));
    Value shifts = e.splat(shift);
    Value total =
        e.forLoop(e.i64(0), keys, kLanes, e.splat(0.0),
                  [&](Value column, ValueRange carried) {
                    Value at = e.advance(line, e.mul(column, 4));
                    Value p = emitExp2OfNonPositive(
                        e, e.subF(e.loadVector(e.f32Type(), at), shifts));
                    e.storeVector(p, at);
                    return SmallVector<Value>{e.addF(carried[0], p)};
                  })[0];
    e.store(e.sumLanes(total), e.advance(e.advance(totals, 4), e.mul(row, 8)));
  }

  Value transform(Value t) {
    double cap = op.getSoftCap().convertToDouble(),
           scale = op.getScale().convertToDouble();
    if (cap == 0)
      return e.mulF(t, e.splat(scale * kLog2E));
    Value bounded = emitActivation(e, "tanh", e.mulF(t, e.splat(scale / cap)));
    return e.mulF(bounded, e.splat(cap * kLog2E));
  }

  /// The mask operand, broadcast to [batch, heads, q, k], at 16 keys of a row.
  Value addMask(Value t, const Sequence &s, Value head, Value query, Value key,
                Value seen) {
    if (!op.getMask())
      return t;
    kern::BufferType type = PhaseEmitter::typeOf(op.getMask());
    SmallVector<Polynomial> dims = type.getDims();
    SmallVector<Value> strides = emitStrides(e, type);
    Value position[] = {s.index, head, query, key};
    Value offset = e.i64(0);
    bool perKey = false;
    for (size_t i = 0; i < dims.size(); ++i) {
      size_t axis = 4 - dims.size() + i;
      if (dims[i] == Polynomial(1))
        continue;
      perKey |= axis == 3;
      offset = e.add(offset, e.mul(position[axis], strides[i]));
    }
    bool boolean = type.getElementType().isInteger(1);
    Type element = boolean ? Type(e.builder().getI8Type()) : e.f32Type();
    Value at =
        e.advance(e.pointer(op.getMask()), e.mul(offset, boolean ? 1 : 4));
    Value mask =
        perKey ? e.loadVector(element, at, seen) : e.splat(e.load(element, at));
    if (!boolean)
      return e.fma(mask, e.splat(kLog2E), t);
    OpBuilder &b = e.builder();
    Value zero = b.create<arith::ConstantOp>(e.location(),
                                             b.getZeroAttr(mask.getType()));
    Value attend = b.create<arith::CmpIOp>(
        e.location(), arith::CmpIPredicate::ne, mask, zero);
    double hidden = op.getMaskValue()
                        ? op.getMaskValue()->convertToDouble() * kLog2E
                        : -INFINITY;
    return e.select(attend, t, e.splat(hidden));
  }

  /// Chains over the keys of the piece, from zero.
  void emitProduct(const Sequence &s, Value head, Value rows, Value firstKey,
                   Value keys) {
    KernelSpec spec;
    spec.lhsStride = kScoreStride;
    spec.rhsStride =
        PhaseEmitter::typeOf(op.getValue()).getRowStride().constant();
    spec.partialRhs = dv % e.kernels().tileColumns() != 0;
    Value keyHead = e.div(head, e.i64(group));
    for (int64_t column = 0; column < dv; column += e.kernels().tileColumns())
      e.tiles(rows, [&](Value row, Value height) {
        KernelArgs args;
        args.k = keys;
        args.rhsStride = e.rowStride(op.getValue());
        Value firstRow = e.mul(e.add(s.firstKeyRow, firstKey), args.rhsStride);
        Value offset = e.add(e.add(firstRow, e.mul(keyHead, dv)), column);
        args.lhs = cell(scores, row, kScoreStride, e.i64(0));
        args.rhs = e.advance(e.pointer(op.getValue()), e.mul(offset, 4));
        args.output = cell(product, row, valueStride, e.i64(column));
        args.outputStride = e.i64(valueStride);
        args.columns = e.i64(dv - column);
        e.kernels().call(e, spec, height, args);
      });
  }

  /// Adds the piece to what the pieces before it gave.
  void merge(Value row) {
    Value pair = e.mul(row, 8);
    Value maximumAt = e.advance(maxima, pair),
          totalAt = e.advance(totals, pair);
    Value before = e.loadF32(maximumAt),
          own = e.loadF32(e.advance(maximumAt, 4));
    Value joint = e.maxF(before, own);
    Value shift = e.select(e.lessF(e.f32(-INFINITY), joint), joint, e.f32(0));
    Value a = emitExp2OfNonPositive(e, e.splat(e.subF(before, shift)));
    Value c = emitExp2OfNonPositive(e, e.splat(e.subF(own, shift)));
    Value total = e.splat(e.loadF32(totalAt)),
          ownTotal = e.splat(e.loadF32(e.advance(totalAt, 4)));
    e.store(joint, maximumAt);
    e.store(e.extract(e.fma(ownTotal, c, e.mulF(total, a)), 0), totalAt);
    e.columns(e.i64(dv), [&](Value column, Value mask) {
      Value at = cell(sum, row, valueStride, column);
      Value o = e.loadVector(e.f32Type(),
                             cell(product, row, valueStride, column), mask);
      e.storeVector(e.fma(o, c, e.mulF(e.loadVector(e.f32Type(), at, mask), a)),
                    at, mask);
    });
  }

  void finish(const Sequence &s, Value head, Value first, Value row) {
    Value total = e.loadF32(e.advance(totals, e.mul(row, 8)));
    Value any = e.lessF(e.f32(0), total);
    Value divisor = e.splat(e.select(any, total, e.f32(1)));
    Value target =
        e.mul(e.add(s.firstRow, e.add(first, row)), e.rowStride(op.getOuts()));
    Value line = e.advance(e.pointer(op.getOuts()),
                           e.mul(e.add(target, e.mul(head, dv)), 4));
    e.columns(e.i64(dv), [&](Value column, Value mask) {
      Value o =
          e.loadVector(e.f32Type(), cell(sum, row, valueStride, column), mask);
      Value value = e.select(e.splat(any), e.divF(o, divisor), e.splat(0.0));
      e.storeVector(value, e.advance(line, e.mul(column, 4)), mask);
    });
  }

  PhaseEmitter &e;
  kern::AttentionOp op;
  int64_t heads, group, dk, dv, valueStride;
  Value scores, product, sum; ///< [query block][stride] floats
  Value maxima, totals;       ///< pairs: over the pieces so far, of this piece
};
} // namespace

void lower::lowerAttention(PhaseEmitter &e, kern::AttentionOp op) {
  AttentionPhase(e, op).emit();
}
