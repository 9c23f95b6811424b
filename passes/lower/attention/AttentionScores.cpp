// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes scores for a KV block: the matmul of queries and keys, panel by
// panel; soft cap, slopes and masks if present; the exponentials and their
// sums.
#include "passes/lower/attention/AttentionEmitter.h"
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/ops/StridedCopy.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Computes query times key for all keys in the KV block, and the maxima.
void AttentionEmitter::emitScores(const WorkItem &item, const KvBlock &block) {
  // The kernel scales the scores unless a soft cap comes first.
  KernelSpec spec;
  spec.rhs = &keyFormat;
  spec.k = dk;
  if (!item.s.packed)
    spec.lhsStride = getBufferType(op.getQuery()).getRowStride().constant();
  spec.rhsStride = panelWidth;
  spec.store = KernelSpec::Store::Scores;
  spec.prefetch = !usesAmx();
  spec.amx = usesAmx();
  if (!hasSoftCap())
    spec.scale = op.getScale().convertToDouble() * kLog2E;

  // The kernel updates maxima, which start at minus infinity.
  e.forRange(item.numQueries, [&](Index query) {
    e.storeVector(e.splat(-INFINITY),
                  e.advance(block.maxima, query * (kLanes * 4)));
  });

  KernelArgs args;
  args.tileConfig = tileConfig;
  args.lhsStride = queryStride(item.s, op.getQuery(), dk);
  args.outputStride = e.i64(scoreStride);
  // An iteration reads one or two cache lines from a panel.
  args.prefetchStride = e.i64(panelWidth * getLaneBytes());
  args.prefetchMoreStride = args.prefetchStride;
  int64_t second = e.kernels().getNr() * getLaneBytes() > 64 ? 64 : 0;
  Index end = block.end - block.base;
  auto emitTile = [&](Index column, Value ahead, Index query, Index rows) {
    args.lhs = inputAddress(item, query);
    args.output = elementAt(block.scores, query, scoreStride, column);
    args.perRow = e.advance(block.maxima, query * (kLanes * 4));
    args.prefetch = ahead;
    args.prefetchMore = e.advance(ahead, second);
    e.kernels().call(e, spec, rows, args);
  };

  // Tile by tile with NR keys; KV blocks begin at a panel border.
  e.forLoop(block.start - block.base, end, e.kernels().getNr(),
            [&](Index column) {
              Index panel = column / panelWidth, lane = column % panelWidth;
              Index offset = panel * getKeyPanelBytes() + lane * getLaneBytes();
              args.rhs = e.advance(block.keys, offset);
              if (hasScales())
                args.bias = e.advance(block.keyScales, column * 4);
              args.columns = end - column;
              Value ahead = e.advance(block.nextKeys, offset);
              forTiles(item, keyFormat, [&](Index query, Index rows) {
                emitTile(column, ahead, query, rows);
              });
            });
}

void AttentionEmitter::forTiles(const WorkItem &item,
                                const OperandLowering &rhs,
                                function_ref<void(Index, Index)> body) {
  static_assert(kern::kAmxQueryBlock <= amxRows);
  if (usesAmx())
    return body(e.i64(0), item.numQueries);
  e.forRowBlocks(item.numQueries, rhs, body);
}

/// Converts scores to probabilities; stores their maxima and sums in `state`.
void AttentionEmitter::emitSoftmax(const WorkItem &item, const KvBlock &block,
                                   const SoftmaxState &state) {
  auto emitRows = [&](bool masked) {
    e.forRange(item.numQueries, [&](Index query) {
      if (masked)
        emitMasks(item, block, query);
      emitProbabilities(block, query, state);
    });
  };
  if (!masksRows())
    return emitRows(false);
  if (changesScores())
    return emitRows(true);

  // No mask is needed if all queries see all keys in the block. By position, it
  // suffices that the first and the last query do.
  Index end = item.firstQuery + item.numQueries;
  auto coversBlock = [&](Index to, Index from) {
    Bool seenToEnd = block.end <= to;
    return logicalAnd(seenToEnd, from <= block.start);
  };
  auto emitUnlessCovered = [&](Bool covered) {
    e.ifThen(covered, [&] { emitRows(false); }, [&] { emitRows(true); });
  };
  if (op.getByColumn()) {
    KeyRanges ranges = getKeyRanges(item.s, item.firstQuery, end);
    return emitUnlessCovered(coversBlock(ranges.allTo, ranges.allFrom));
  }
  Index last = end - 1;
  Bool seenByFirst = block.end <= visibleKeys(item.s, item.firstQuery).second;
  Bool seenByLast = visibleKeys(item.s, last).first <= block.start;
  emitUnlessCovered(logicalAnd(seenByFirst, seenByLast));
}

/// Applies soft cap, slopes and masks to a query's scores, and recomputes their
/// maxima.
void AttentionEmitter::emitMasks(const WorkItem &item, const KvBlock &block,
                                 Index query) {
  Index queryIndex = item.firstQuery + query;
  auto [from, to] = visibleKeys(item.s, queryIndex);
  Value line = elementAt(block.scores, query, scoreStride, e.i64(0));
  Index low = from - block.base, high = min(to, block.end) - block.base;
  Value hidden = e.splat(-INFINITY);
  std::optional<PositionRow> positions;
  if (op.getPositionBuckets())
    positions = getPositionRow(item, query);
  Value maxima = e.foldLoop(
      block.start - block.base, block.end - block.base, kLanes, hidden,
      [&](Index column, Value maximum) {
        // Transform 16 scores.
        Value at = e.advance(line, column * 4);
        Value t = emitSoftCap(e.loadVector(e.f32Type(), at));
        t = addSlope(t, item, query, block.base + column);
        t = addRelativeBias(t, item, query, block.base + column);
        if (positions)
          t = addPositionScores(t, item, *positions, block.base + column);

        // Hide keys after the last visible one, keys that the mask hides, and
        // keys before the window.
        Value seen = e.laneMask(high - column);
        t = addMask(t, item, queryIndex, block.base + column, seen);
        if (op.getWindow())
          seen = e.logicalAnd(seen, e.logicalNot(e.laneMask(low - column)));
        t = e.select(seen, t, hidden);
        e.storeVector(t, at);
        return e.maxF(t, maximum);
      });
  e.storeVector(maxima, e.advance(block.maxima, query * (kLanes * 4)));
}

/// Computes a query's probabilities, not yet divided by their sum.
void AttentionEmitter::emitProbabilities(const KvBlock &block, Index query,
                                         const SoftmaxState &state) {
  Value line = elementAt(block.scores, query, scoreStride, e.i64(0));
  Value maximum = e.maxLanes(
      e.loadVector(e.f32Type(), e.advance(block.maxima, query * (kLanes * 4))));
  e.store(maximum, rowValueAt(state.maximum, query));

  // Without a visible key, all scores are and remain minus infinity.
  Value shift =
      e.select(e.cmpLtF(e.f32(-INFINITY), maximum), maximum, e.f32(0));
  Value shifts = e.splat(shift);
  const OperandLowering &stored = valueFormat.getLhs();
  // AMX instructions multiply probabilities in whole panels, which are zero
  // after the last key.
  Index end = block.end - block.base;
  if (usesAmx())
    end = ceilDiv(end, panelWidth) * panelWidth;
  Value sum = e.foldLoop(
      block.start - block.base, end, kLanes, e.splat(0.0),
      [&](Index column, Value carried) {
        Value t = e.loadVector(e.f32Type(), e.advance(line, column * 4));
        Value p = emitExp2OfNonPositive(e, e.subF(t, shifts));
        // Store it in the matmul's operand type, times the scale of its value.
        // Rows of a smaller type use the first bytes of the scores' memory.
        Value at = e.advance(line, column * stored.getElementBytes());
        if (hasScales()) {
          Value scales = e.loadVector(e.f32Type(),
                                      e.advance(block.valueScales, column * 4));
          stored.store(e, e.mulF(p, scales), at);
          return e.addF(carried, p);
        }
        // The sum uses the stored values.
        Value rounded = stored.round(e, p);
        e.storeVector(rounded, at);
        return e.addF(carried, stored.widen(e, rounded));
      });
  e.store(e.sumLanes(sum), rowValueAt(state.sum, query));
}

/// Caps and scales scores; without a soft cap, they are scaled already.
Value AttentionEmitter::emitSoftCap(Value t) {
  if (!hasSoftCap())
    return t;
  double cap = op.getSoftCap().convertToDouble(),
         scale = op.getScale().convertToDouble();
  Value bounded =
      emitActivation(e, Activation::Tanh, e.mulF(t, e.splat(scale / cap)));
  return e.mulF(bounded, e.splat(cap * kLog2E));
}

/// Adds the head's slope times the distance from the query to 16 keys (ALiBi).
Value AttentionEmitter::addSlope(Value t, const WorkItem &item, Index query,
                                 Index key) {
  if (!op.getSlopes())
    return t;
  Index own;
  if (!op.getByColumn())
    own = queryPosition(item.s, item.firstQuery + query);

  // One slope for all keys, or one for earlier and one for later keys.
  const bool bySide = llvm::cast<kern::WeightType>(op.getSlopes().getType())
                          .getShape()
                          .size() == 2;
  Value slopes = e.advance(e.weight(op.getSlopes()),
                           queryHead(item, query) * (bySide ? 8 : 4));
  Value slope = e.loadF32(slopes);
  Value distance =
      op.getByColumn()
          ? Value(e.builder().create<arith::SIToFPOp>(
                e.location(), e.f32Vector(), keyDistances(item, query, key)))
          : e.addF(e.splat(e.toF32(key - own)), e.laneNumbers());
  Value scaled = e.splat(e.mulF(slope, e.f32(kLog2E)));
  if (bySide) {
    Value later = e.loadF32(e.advance(slopes, 4));
    scaled = e.select(e.cmpLtF(e.splat(0.0), distance),
                      e.splat(e.mulF(later, e.f32(kLog2E))), scaled);
  }
  return e.fma(scaled, distance, t);
}

/// Applies the mask operand, broadcast to [batch, heads, q, k], to 16 keys.
Value AttentionEmitter::addMask(Value t, const WorkItem &item, Index query,
                                Index key, Value seen) {
  if (!op.getMask())
    return t;

  // Load 16 elements, or one that is broadcast over the keys.
  kern::BufferType type = getBufferType(op.getMask());
  SmallVector<Polynomial> dims = type.getDims();
  SmallVector<Index> strides = emitStrides(e, type);
  Index position[] = {item.s.index, item.head, query, key};
  Index offset = e.i64(0);
  bool perKey = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    size_t axis = 4 - dims.size() + i;
    if (dims[i] == Polynomial(1))
      continue;
    perKey |= axis == 3;
    offset = offset + position[axis] * strides[i];
  }
  bool boolean = type.getElementType().isInteger(1);
  Type element = boolean ? Type(e.builder().getI8Type()) : e.f32Type();
  Value at = e.advance(e.pointer(op.getMask()), offset * (boolean ? 1 : 4));
  Value mask =
      perKey ? e.loadVector(element, at, seen) : e.splat(e.load(element, at));

  // f32 is added, bool selects.
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
