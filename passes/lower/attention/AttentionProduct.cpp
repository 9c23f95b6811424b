// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Multiplies probabilities and values; sums over the keys in one KV block start
// from zero. For a single KV block, the kernel divides by the softmax sum;
// otherwise the result is merged with earlier KV blocks.
#include "passes/lower/attention/AttentionEmitter.h"
#include "passes/lower/emit/VectorMath.h"
#include "passes/lower/ops/LowerOps.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The kernel for this matmul.
KernelSpec AttentionEmitter::getProductSpec(bool normalizes) {
  KernelSpec spec;
  spec.rhs = usesAmx() ? &keyFormat : &valueFormat;
  spec.amx = usesAmx();
  spec.lhsStride = scoreStride * 4 / valueFormat.getLhs().getElementBytes();
  if (usesAmx())
    spec.rhsStride = panelWidth;
  else if (op.getCache())
    spec.rhsStride = dv;
  else
    spec.rhsStride = getBufferType(op.getValue()).getRowStride().constant();
  if (normalizes) {
    spec.store = KernelSpec::Store::Normalize;
    spec.out = &getLowering(op.getOuts());
  }
  spec.prefetch = !usesAmx();
  return spec;
}

/// Allocates the AMX state.
void AttentionEmitter::startAmx() {
  tileConfig = makeTileConfig(e);
  packedBlocks = e.stackBuffer(kern::kPackedBlocks * 8);
  for (int64_t i = 0; i < kern::kPackedBlocks; ++i)
    e.store(e.i64(0), e.advance(packedBlocks, i * 8));
}

/// Provides the values in a KV block as panels. The panels for the last KV
/// blocks are preserved, since the next items for the same head also read them.
/// With a window, items do not read the same keys.
void AttentionEmitter::packValues(const WorkItem &item, KvBlock &block) {
  if (!usesAmx())
    return;
  Index slot = block.base / kvBlockSize % kern::kPackedBlocks;
  block.packedValues = e.advance(
      valuePanels, slot * (kvBlockSize * valueStride * getValueBytes()));
  if (op.getWindow())
    return copyValues(block);
  Value packed = e.advance(packedBlocks, slot * 8);
  Index number = (item.s.firstKeyRow + block.base) * (heads / group) +
                 (keyHead(item.s, item.head) + 1);
  e.ifThen(logicalNot(e.loadI64(packed) == number), [&] {
    copyValues(block);
    // The next sequence begins at the same row if this one has no keys.
    Bool hasKeys = block.start < block.end;
    e.store(select(hasKeys, number, 0), packed);
  });
}

/// Copies the values in a KV block to panels in key pairs, padded with zeros to
/// a whole AMX instruction.
void AttentionEmitter::copyValues(const KvBlock &block) {
  OpBuilder &b = e.builder();
  Index start = block.start - block.base, keys = block.end - block.start,
        stride = e.rowStride(op.getValue());
  Index rowBytes = stride * getValueBytes();
  Value from = e.advance(block.values, start * rowBytes);
  auto store = [&](Index pair, int64_t column, Value words) {
    Value to = e.advance(packedColumns(block, column - column % panelWidth),
                         pair * (panelWidth * 4) + column % panelWidth * 4);
    e.storeVector(words, to);
  };
  auto packPairs = [&](Index first, Index end, bool isRest) {
    e.forLoop(first, end, 1, [&](Index pair) {
      for (int64_t column = 0; column < dv; column += kLanes) {
        Value mask =
            dv - column < kLanes ? e.laneMask(e.i64(dv - column)) : Value();
        store(pair, column,
              valueFormat.loadRhs(
                  e, {from, pair, stride, column / kLanes, mask, isRest})[0]);
      }
    });
  };
  // Pack pairs, then a last single key, then zeros.
  Index whole = keys / 2, some = ceilDiv(keys, 2);
  packPairs(e.i64(0), whole, /*isRest=*/false);
  packPairs(whole, some, /*isRest=*/true);
  Value zero = b.create<arith::ConstantOp>(
      e.location(), b.getZeroAttr(e.getVectorType(b.getI32Type())));
  e.forLoop(some, ceilDiv(keys, amxBf16Depth) * (amxBf16Depth / 2), 1,
            [&](Index pair) {
              for (int64_t column = 0; column < dv; column += kLanes)
                store(pair, column, zero);
            });
}

/// Stores the matmul result to `target` as [queries][value stride] f32 or, if
/// `target` is null, divided by `divisors` to the result.
void AttentionEmitter::emitProduct(const WorkItem &item, const KvBlock &block,
                                   Value target, Value divisors) {
  KernelSpec spec = getProductSpec(/*normalizes=*/!target);
  int64_t bytes = valueFormat.getLhs().getElementBytes();
  int64_t keysPerIteration = valueFormat.getKPerIteration();
  int64_t outBytes = getBufferType(op.getOuts()).getElementBytes();

  // Arguments that are equal for all tiles.
  Index start = block.start - block.base;
  KernelArgs args;
  args.tileConfig = tileConfig;
  args.k = block.end - block.start;
  args.rhsStride = op.getCache() ? e.i64(dv) : e.rowStride(op.getValue());
  args.outputStride =
      target ? e.i64(valueStride) : queryStride(item.s, op.getOuts(), dv);
  Index iterationBytes = args.rhsStride * (getValueBytes() * keysPerIteration);
  Value values =
      e.advance(block.values, start / keysPerIteration * iterationBytes);
  // An iteration reads two lines in a row, or one line in each of two rows.
  args.prefetchStride = iterationBytes;
  args.prefetchMoreStride = args.prefetchStride;
  Index second = valueFormat.takesSeveralRows()
                     ? args.rhsStride * getValueBytes()
                     : e.i64(64);

  // Tile by tile with NR columns; the last one may be narrower.
  int64_t nr = e.kernels().getNr();
  for (int64_t column = 0; column < dv; column += nr) {
    if (nr > kLanes && dv - column <= kLanes && !usesAmx())
      spec.vectors = 1;
    spec.partialRhs = dv - column < spec.getVectors(e.getIsa()) * kLanes;
    int64_t offset = column * valueFormat.getFormat().getColumnBytes();
    args.rhs =
        usesAmx() ? packedColumns(block, column) : e.advance(values, offset);
    Value ahead = e.advance(block.nextValues, offset);
    args.columns = e.i64(dv - column);
    forTiles(item, valueFormat, [&](Index query, Index rows) {
      args.lhs = e.advance(
          elementAt(block.scores, query, scoreStride, e.i64(0)), start * bytes);
      if (target) {
        args.output = elementAt(target, query, valueStride, e.i64(column));
      } else {
        args.output = e.advance(outputAddress(item, query), column * outBytes);
        args.perRow = rowValueAt(divisors, query);
      }
      args.prefetch = ahead;
      args.prefetchMore = e.advance(ahead, second);
      e.kernels().call(e, spec, rows, args);
    });
  }
}

/// Quantizes an item's results if integer results are requested.
void AttentionEmitter::quantizeResults(const WorkItem &item) {
  if (!op.getCopy())
    return;
  const QuantizedRows rows{op.getCopy(), op.getScales()};
  const int64_t size = rows.getGroup(), numGroups = dv / size;
  e.forRange(item.numQueries, [&](Index query) {
    Index line = item.firstQuery + query;
    if (item.s.packed)
      line = select(*item.s.packed, 0, line);
    Index row = item.s.firstRow + line,
          first = queryHead(item, query) * numGroups;
    Value in = outputAddress(item, query);
    e.forRange(e.i64(numGroups), [&](Index group) {
      emitQuantizedGroup(e, rows, row, first + group, size,
                         e.advance(in, group * (size * 4)));
    });
  });
}

/// Computes the joint maxima and sums, and the factors for both products.
void AttentionEmitter::emitMergeFactors(const WorkItem &item,
                                        const SoftmaxState &state,
                                        const SoftmaxState &block) {
  // 16 queries at once; lanes after the last query are unused.
  e.forLoop(e.i64(0), item.numQueries, kLanes, [&](Index query) {
    auto load = [&](Value base) {
      return e.loadVector(e.f32Type(), rowValueAt(base, query));
    };
    Value earlier = load(state.maximum), own = load(block.maximum);
    Value joint = e.maxF(earlier, own);
    Value shift =
        e.select(e.cmpLtF(e.splat(-INFINITY), joint), joint, e.splat(0.0));
    Value a = emitExp2OfNonPositive(e, e.subF(earlier, shift));
    Value c = emitExp2OfNonPositive(e, e.subF(own, shift));
    e.storeVector(joint, rowValueAt(state.maximum, query));
    e.storeVector(e.fma(load(block.sum), c, e.mulF(load(state.sum), a)),
                  rowValueAt(state.sum, query));
    e.storeVector(a, rowValueAt(stateFactors, query));
    e.storeVector(c, rowValueAt(blockFactors, query));
  });
}

/// Merges a KV block's result into the state for earlier blocks; the last merge
/// stores the result.
void AttentionEmitter::emitMerge(const WorkItem &item,
                                 const SoftmaxState &state,
                                 const SoftmaxState &block, Bool isLast) {
  emitMergeFactors(item, state, block);

  // Runs `use(column, address in the state, merged result)` for a query.
  auto forMerged = [&](Index query,
                       function_ref<void(Index, Value, Value)> use) {
    Value a = e.splat(e.loadF32(rowValueAt(stateFactors, query))),
          c = e.splat(e.loadF32(rowValueAt(blockFactors, query)));
    e.forLoop(e.i64(0), e.i64(valueStride), kLanes, [&](Index column) {
      Value at = elementAt(state.output, query, valueStride, column);
      Value o = e.loadVector(
          e.f32Type(), elementAt(block.output, query, valueStride, column));
      use(column, at, e.fma(o, c, e.mulF(e.loadVector(e.f32Type(), at), a)));
    });
  };

  // The last merge divides by the sum and stores result rows.
  auto storeResult = [&] {
    const OperandLowering &out = getLowering(op.getOuts());
    e.forRange(item.numQueries, [&](Index query) {
      Value sum = e.splat(e.loadF32(rowValueAt(state.sum, query)));
      Value empty = emitIsEmptySum(e, sum);
      Value line = outputAddress(item, query);
      forMerged(query, [&](Index column, Value, Value o) {
        Value quotient = e.select(empty, e.splat(0.0), e.divF(o, sum));
        Value at = e.advance(line, column * out.getElementBytes());
        out.store(e, quotient, at, e.laneMask(e.i64(dv) - column));
      });
    });
  };
  auto updateState = [&] {
    e.forRange(item.numQueries, [&](Index query) {
      forMerged(query, [&](Index, Value at, Value o) { e.storeVector(o, at); });
    });
  };
  e.ifThen(isLast, storeResult, updateState);
}
