// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, the scores of a piece: chains over the head's size for a panel of
// keys at a time, masks where there are any, exponentials and their sums.
#include "passes/lower/attention/AttentionPhase.h"
#include "passes/lower/emit/VectorMath.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Chains over dk for all keys of the piece.
void AttentionPhase::emitScores(const Unit &u, const Piece &piece) {
  kern::BufferType queryType = PhaseEmitter::typeOf(op.getQuery());
  KernelSpec spec;
  spec.bf16 = bf16;
  spec.k = dk;
  if (!u.s.joined)
    spec.lhsStride = queryType.getRowStride().constant();
  spec.rhsStride = kern::kPanel;
  spec.store = KernelSpec::Store::Scores;
  spec.rhsInt8 = spec.columnScales = int8;
  spec.prefetch = true;
  if (!caps())
    spec.scale = op.getScale().convertToDouble() * kLog2E;
  e.forLoop(e.i64(0), u.rows, 1, [&](Value row) {
    e.storeVector(e.splat(-INFINITY),
                  e.advance(piece.maxima, e.mul(row, kLanes * 4)));
  });
  KernelArgs args;
  args.lhsStride = lineStride(u.s, op.getQuery(), dk);
  args.outputStride = e.i64(scoreStride);
  // A step of a panel has two lines, of which a narrow tile reads one.
  args.prefetchStride = e.i64(kern::kPanel * laneBytes());
  args.prefetchMoreStride = args.prefetchStride;
  int64_t second = e.kernels().tileColumns() > kLanes && !int8 ? 64 : 0;
  Value end = e.sub(piece.end, piece.base);
  auto tile = [&](Value column, Value ahead, Value row, Value tall) {
    args.lhs = queryLine(u, row);
    args.output = cell(piece.scores, row, scoreStride, column);
    args.perRow = e.advance(piece.maxima, e.mul(row, kLanes * 4));
    args.prefetch = ahead;
    args.prefetchMore = e.advance(ahead, second);
    e.kernels().call(e, spec, tall, args);
  };
  e.forLoop(
      e.sub(piece.start, piece.base), end, e.kernels().tileColumns(),
      [&](Value column) {
        // Pieces begin with a panel.
        Value panel = e.div(column, e.i64(kern::kPanel)),
              lane = e.rem(column, e.i64(kern::kPanel));
        Value within =
            e.add(e.mul(panel, keyPanelBytes()), e.mul(lane, laneBytes()));
        args.rhs = e.advance(piece.keys, within);
        if (int8)
          args.bias = e.advance(piece.keyScales, e.mul(column, 4));
        args.columns = e.sub(end, column);
        Value ahead = e.advance(piece.nextKeys, within);
        e.tiles(
            u.rows,
            [&](Value row, Value tall) { tile(column, ahead, row, tall); },
            bf16);
      });
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
  if (changesScores())
    return each(true);
  // All rows see all keys of the piece when the first and the last row do.
  Value end = e.add(u.first, u.rows);
  Value whole;
  if (op.getByColumn()) {
    LineRanges ranges = lineRanges(u.s, u.first, end);
    whole = e.both(e.lessEqual(piece.end, ranges.allTo),
                   e.lessEqual(ranges.allFrom, piece.start));
  } else {
    Value last = e.sub(end, e.i64(1));
    whole = e.both(e.lessEqual(piece.end, visible(u.s, u.first).second),
                   e.lessEqual(visible(u.s, last).first, piece.start));
  }
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
        t = addBias(t, u, row, e.add(piece.base, column));
        t = addRelativeBias(t, u, row, e.add(piece.base, column));
        Value seen = e.laneMask(e.sub(high, column));
        t = addMask(t, u, queryIndex, e.add(piece.base, column), seen);
        if (op.getWindow())
          seen = e.both(seen, e.inverse(e.laneMask(e.sub(low, column))));
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
        } else if (int8) {
          Value scales = e.loadVector(
              e.f32Type(), e.advance(piece.valueScales, e.mul(column, 4)));
          e.storeVector(e.mulF(p, scales), at);
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

/// The slope of the row's head times the distance from the query to 16 keys.
Value AttentionPhase::addBias(Value t, const Unit &u, Value row, Value key) {
  if (!op.getSlopes())
    return t;
  Value own;
  if (!op.getByColumn())
    own = position(u.s, e.add(u.first, row));
  Value slope = e.loadF32(
      e.advance(e.weight(op.getSlopes()), e.mul(queryHead(u, row), 4)));
  Value distance =
      op.getByColumn()
          ? Value(e.builder().create<arith::SIToFPOp>(
                e.location(), e.f32Vector(), distances(u, row, key)))
          : e.addF(e.splat(e.toF32(e.sub(key, own))), e.laneNumbers());
  return e.fma(e.splat(e.mulF(slope, e.f32(kLog2E))), distance, t);
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
