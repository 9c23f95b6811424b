// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, the scores of a piece: chains over the head's size for a panel of
// keys at a time, masks where there are any, exponentials and their sums.
#include "passes/lower/AttentionPhase.h"
#include "passes/lower/VectorMath.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The place of a key in the panels of a head; a lane is a float, or a pair of
/// bf16.
Value AttentionPhase::keyAt(const Sequence &s, Value head, Value key) {
  int64_t width =
      *PhaseEmitter::typeOf(op.getKey()).getDims().back().constant();
  Value position = e.add(s.keyBase, key);
  Value panel = e.div(position, e.i64(kern::kPanel)),
        lane = e.rem(position, e.i64(kern::kPanel));
  Value line = e.add(e.mul(panel, width), e.mul(e.div(head, e.i64(group)), dk));
  Value offset =
      e.add(e.mul(line, kern::kPanel * (bf16 ? 2 : 4)), e.mul(lane, 4));
  return e.advance(e.pointer(op.getKey()), offset);
}

/// Chains over dk for all keys of the piece.
void AttentionPhase::emitScores(const Unit &u, const Piece &piece) {
  kern::BufferType queryType = PhaseEmitter::typeOf(op.getQuery());
  int64_t bytes = bf16 ? 2 : 4;
  KernelSpec spec;
  spec.bf16 = bf16;
  spec.k = dk;
  spec.lhsStride = queryType.getRowStride().constant();
  spec.rhsStride = kern::kPanel;
  spec.store = KernelSpec::Store::Scores;
  spec.prefetch = true;
  if (!caps())
    spec.scale = op.getScale().convertToDouble() * kLog2E;
  e.forLoop(e.i64(0), u.rows, 1, [&](Value row) {
    e.storeVector(e.splat(-INFINITY),
                  e.advance(piece.maxima, e.mul(row, kLanes * 4)));
  });
  KernelArgs args;
  args.lhsStride = e.rowStride(op.getQuery());
  args.outputStride = e.i64(scoreStride);
  // A step of a panel has two lines, of which a narrow tile reads one.
  args.prefetchStride = e.i64(kern::kPanel * 4);
  args.prefetchMoreStride = args.prefetchStride;
  int64_t second = e.kernels().tileColumns() > kLanes ? 64 : 0;
  Value queryRow = e.add(u.s.firstRow, u.first);
  Value end = e.sub(piece.end, piece.base);
  auto tile = [&](Value column, Value ahead, Value row, Value tall) {
    Value query =
        e.add(e.mul(e.add(queryRow, row), args.lhsStride), e.mul(u.head, dk));
    args.lhs = e.advance(e.pointer(op.getQuery()), e.mul(query, bytes));
    args.output = cell(piece.scores, row, scoreStride, column);
    args.perRow = e.advance(piece.maxima, e.mul(row, kLanes * 4));
    args.prefetch = ahead;
    args.prefetchMore = e.advance(ahead, second);
    e.kernels().call(e, spec, tall, args);
  };
  int64_t panelBytes =
      *PhaseEmitter::typeOf(op.getKey()).getDims().back().constant() *
      kern::kPanel * bytes;
  e.forLoop(
      e.sub(piece.start, piece.base), end, e.kernels().tileColumns(),
      [&](Value column) {
        args.rhs = keyAt(u.s, u.head, e.add(piece.base, column));
        args.columns = e.sub(end, column);
        // Pieces begin with a panel.
        Value panel = e.div(column, e.i64(kern::kPanel)),
              lane = e.rem(column, e.i64(kern::kPanel));
        Value ahead = e.advance(
            piece.nextKeys, e.add(e.mul(panel, panelBytes), e.mul(lane, 4)));
        e.tiles(
            u.rows,
            [&](Value row, Value tall) { tile(column, ahead, row, tall); },
            bf16);
      });
}

/// The range of keys of the sequence that a row may see.
std::pair<Value, Value> AttentionPhase::visible(const Sequence &s,
                                                Value queryIndex) {
  Value from = e.i64(0), to = s.keys;
  // Queries of other segments are aligned with the last keys.
  bool own = op.getQuerySegments().getType() == op.getKeySegments().getType();
  Value position = own ? queryIndex : e.add(queryIndex, e.sub(s.keys, s.rows));
  if (op.getCausal())
    to = e.min(to, e.add(position, 1));
  if (op.getWindow()) {
    from = e.max(from, e.sub(position, e.i64(op.getWindow() - 1)));
    if (!op.getCausal())
      to = e.min(to, e.add(position, op.getWindow()));
  }
  return {from, to};
}

void AttentionPhase::emitSoftmax(const Unit &u, const Piece &piece,
                                 const Sums &target) {
  auto each = [&](bool masked) {
    e.forLoop(e.i64(0), u.rows, 1, [&](Value row) {
      if (masked)
        emitMasks(u, piece, row);
      emitProbabilities(u, piece, row, target);
    });
  };
  if (!masksRows())
    return each(false);
  if (op.getMask() || caps())
    return each(true);
  // All rows see all keys of the piece when the first and the last row do.
  Value last = e.sub(e.add(u.first, u.rows), e.i64(1));
  Value whole = e.and_(e.lessEqual(piece.end, visible(u.s, u.first).second),
                       e.lessEqual(visible(u.s, last).first, piece.start));
  e.ifThen(whole, [&] { each(false); }, [&] { each(true); });
}

/// Caps and masks the scores of a row, and finds their maximum anew.
void AttentionPhase::emitMasks(const Unit &u, const Piece &piece, Value row) {
  Value queryIndex = e.add(u.first, row);
  auto [from, to] = visible(u.s, queryIndex);
  Value line = cell(piece.scores, row, scoreStride, e.i64(0));
  Value low = e.sub(from, piece.base),
        high = e.sub(e.min(to, piece.end), piece.base);
  Value lowest = e.splat(-INFINITY);
  Value lanes = e.forLoop(
      e.sub(piece.start, piece.base), e.sub(piece.end, piece.base), kLanes,
      lowest, [&](Value column, ValueRange carried) {
        Value at = e.advance(line, e.mul(column, 4));
        Value t = transform(e.loadVector(e.f32Type(), at));
        Value seen = e.laneMask(e.sub(high, column));
        t = addMask(t, u, queryIndex, e.add(piece.base, column), seen);
        if (op.getWindow())
          seen = e.and_(seen, e.not_(e.laneMask(e.sub(low, column))));
        t = e.select(seen, t, lowest);
        e.storeVector(t, at);
        return SmallVector<Value>{e.maxF(t, carried[0])};
      })[0];
  e.storeVector(lanes, e.advance(piece.maxima, e.mul(row, kLanes * 4)));
}

/// Probabilities of one row before they are divided by their sum.
void AttentionPhase::emitProbabilities(const Unit &u, const Piece &piece,
                                       Value row, const Sums &target) {
  Value line = cell(piece.scores, row, scoreStride, e.i64(0));
  Value maximum = e.maxLanes(e.loadVector(
      e.f32Type(), e.advance(piece.maxima, e.mul(row, kLanes * 4))));
  e.store(maximum, number(target.maximum, row));
  // Without a visible key each score is minus infinity, and stays so.
  Value shift = e.select(e.lessF(e.f32(-INFINITY), maximum), maximum, e.f32(0));
  Value shifts = e.splat(shift);
  Value total = e.forLoop(
      e.sub(piece.start, piece.base), e.sub(piece.end, piece.base), kLanes,
      e.splat(0.0), [&](Value column, ValueRange carried) {
        Value t = e.loadVector(e.f32Type(), e.advance(line, e.mul(column, 4)));
        Value p = emitExp2OfNonPositive(e, e.subF(t, shifts));
        // In bf16 a row shrinks to the first half of its memory.
        Value at = e.advance(line, e.mul(column, bf16 ? 2 : 4));
        if (bf16) {
          Value rounded = e.roundBf16(p);
          e.storeVector(rounded, at);
          p = e.widenBf16(rounded);
        } else {
          e.storeVector(p, at);
        }
        return SmallVector<Value>{e.addF(carried[0], p)};
      })[0];
  e.store(e.sumLanes(total), number(target.total, row));
}

/// Scores in units of log2; only a capped one is not scaled yet.
Value AttentionPhase::transform(Value t) {
  if (!caps())
    return t;
  double cap = op.getSoftCap().convertToDouble(),
         scale = op.getScale().convertToDouble();
  Value bounded = emitActivation(e, "tanh", e.mulF(t, e.splat(scale / cap)));
  return e.mulF(bounded, e.splat(cap * kLog2E));
}

/// The mask operand, broadcast to [batch, heads, q, k], at 16 keys of a row.
Value AttentionPhase::addMask(Value t, const Unit &u, Value query, Value key,
                              Value seen) {
  if (!op.getMask())
    return t;
  kern::BufferType type = PhaseEmitter::typeOf(op.getMask());
  SmallVector<Polynomial> dims = type.getDims();
  SmallVector<Value> strides = emitStrides(e, type);
  Value position[] = {u.s.index, u.head, query, key};
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
  Value at = e.advance(e.pointer(op.getMask()), e.mul(offset, boolean ? 1 : 4));
  Value mask =
      perKey ? e.loadVector(element, at, seen) : e.splat(e.load(element, at));
  if (!boolean)
    return e.fma(mask, e.splat(kLog2E), t);
  OpBuilder &b = e.builder();
  Value zero =
      b.create<arith::ConstantOp>(e.location(), b.getZeroAttr(mask.getType()));
  Value attend = b.create<arith::CmpIOp>(e.location(), arith::CmpIPredicate::ne,
                                         mask, zero);
  double hidden = op.getMaskValue()
                      ? op.getMaskValue()->convertToDouble() * kLog2E
                      : -INFINITY;
  return e.select(attend, t, e.splat(hidden));
}
