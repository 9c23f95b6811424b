// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Appends the keys and values in rows to cache blocks. A worker owns whole
// rows.
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/Rows.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

namespace {
/// Writes rows into a cache. Most elements in a head are stored one by one,
/// from a vector on the stack: elements in a key are a panel width apart, and
/// values for several positions may be interleaved.
class CacheWriter {
public:
  CacheWriter(PhaseEmitter &e, kern::AppendOp op)
      : e(e), op(op), type(cast<kern::CacheType>(op.getCache().getType())),
        format(OperandLowering::get(type.getFormat())),
        bytes(format.getElementBytes()),
        interleave(format.getFormat().interleave),
        stage(e.stackBuffer(kLanes * 4)) {}

  /// Writes one head in a row.
  void emit(Index theHead, Index row) {
    head = theHead;
    // Find the KV block for the row's position.
    Value ragged = op.getRagged();
    Index sequence = e.loadI32(
        e.raggedTable(ragged, offsetof(transom_ragged_batch, token_sequence)),
        row);
    Index position = getPosition(row, sequence);
    Index first =
        loadOfSequence(sequence, offsetof(transom_sequence, first_block));
    Index index = first + position / kvBlockSize;
    Value block = e.loadPtr(e.advance(e.blockTable(op.getCache()), index * 8));
    layer = e.advance(block, e.offsetInBlock(op.getCache()));
    within = position % kvBlockSize;

    emitKeys(row);
    emitValues(row);
  }

private:
  /// The position of a row in the cache.
  Index getPosition(Index row, Index sequence) {
    Value ragged = op.getRagged();
    if (!type.isReadOnly())
      return e.loadI32(
          e.raggedTable(ragged, offsetof(transom_ragged_batch, token_column)),
          row);
    Value keys =
        e.raggedTable(ragged, offsetof(transom_ragged_batch, token_key));
    return e.loadI64(e.advance(keys, row * 8)) -
           loadOfSequence(sequence, offsetof(transom_sequence, key_base));
  }

  /// Loads a field from a sequence's entry in the batch table.
  Index loadOfSequence(Index sequence, int64_t offset) {
    Value sequences = e.raggedTable(op.getRagged(),
                                    offsetof(transom_ragged_batch, sequences));
    return e.loadI64(e.advance(
        e.advance(sequences, sequence * sizeof(transom_sequence)), offset));
  }

  /// The destination for a head's elements in a row: groups with `groupSize`
  /// consecutive elements, `stride` bytes from one group to the next.
  struct Target {
    Value buffer; ///< contains the row
    Value first;  ///< address of the row's first element in head 0
    int64_t width, headBytes, scalesOffset, groupSize, stride;
  };

  /// Keys are [256/32][depth / interleave][32][interleave].
  void emitKeys(Index row) {
    int64_t lane = bytes * interleave;
    Index panel = within / panelWidth;
    Index first = panel * (type.getDepth() * panelWidth * bytes) +
                  within % panelWidth * lane;
    emitHead(row, {op.getKey(), e.advance(layer, first), type.getKey(),
                   type.getDepth() * kvBlockSize * bytes, type.getKeyScales(),
                   interleave, panelWidth * lane});
  }

  /// Values are [256 / interleave][value][interleave].
  void emitValues(Index row) {
    int64_t step = type.getValue() * bytes * interleave;
    Index first = within / interleave * step + within % interleave * bytes;
    Value values = e.advance(layer, type.getKeyBytes());
    emitHead(row, {op.getValue(), e.advance(values, first), type.getValue(),
                   type.getValue() * kvBlockSize * bytes, type.getValueScales(),
                   interleave > 1 ? 1 : kLanes, bytes * interleave});
  }

  void emitHead(Index row, const Target &target) {
    Row in = getRow(e, target.buffer, row);
    Index start = head * target.width;
    auto load = [&](Index column, Value mask) {
      return in.load(start + column, mask);
    };
    // Each head has a scale at each position.
    Value scale;
    if (format.getFormat().hasScales()) {
      scale = emitScale(target.width, load);
      Index at = head * kvBlockSize + within;
      e.store(scale, e.advance(layer, at * 4 + target.scalesOffset));
      scale = e.splat(scale);
    }
    Value first = e.advance(target.first, head * target.headBytes);
    e.forColumns(e.i64(target.width), [&](Index column, Value mask) {
      emitElements(target, first, column, round(load(column, mask), scale),
                   mask);
    });
  }

  /// Stores 16 elements in a head from `column` on, or fewer with a mask.
  void emitElements(const Target &target, Value first, Index column, Value x,
                    Value mask) {
    // Consecutive elements are stored as a vector.
    if (target.groupSize == kLanes)
      return e.storeVector(x, e.advance(first, column * bytes), mask);

    // Other elements are stored by groups, as integers with the group's size.
    e.storeVector(x, stage);
    int64_t groupBytes = target.groupSize * bytes;
    Type group = e.builder().getIntegerType(groupBytes * 8);
    Value to = e.advance(first, column / target.groupSize * target.stride);
    if (!mask) {
      for (int64_t i = 0; i < kLanes / target.groupSize; ++i)
        e.store(e.load(group, e.advance(stage, i * groupBytes)),
                e.advance(to, i * target.stride));
      return;
    }
    int64_t count = llvm::divideCeil(target.width % kLanes, target.groupSize);
    e.forRange(count, [&](Index i) {
      e.store(e.load(group, e.advance(stage, i * groupBytes)),
              e.advance(to, i * target.stride));
    });
  }

  /// The max magnitude in a head divided by the max stored value. If an element
  /// is NaN or infinite, the result is NaN, so that it propagates.
  Value emitScale(int64_t width, function_ref<Value(Index, Value)> load) {
    auto [largest, zero] = emitLargest(e, width, load);
    double divisor = getMaxMagnitude(format.getFormat().element);
    return e.addF(e.divF(largest, e.f32(divisor)), zero);
  }

  /// Converts elements to the cache's format.
  Value round(Value x, Value scale) {
    if (scale) {
      Value nonZero = e.cmpLtF(e.splat(0.0), scale);
      x = e.select(nonZero, e.divF(x, scale), e.splat(0.0));
    }
    return format.round(e, x);
  }

  PhaseEmitter &e;
  kern::AppendOp op;
  kern::CacheType type;
  const OperandLowering &format;
  int64_t bytes;      ///< per element
  int64_t interleave; ///< adjacent elements
  Value stage;        ///< a vector on the stack
  Index head;
  Value layer;  ///< the layer's data in the row's KV block
  Index within; ///< the row's position in its KV block
};
} // namespace

static void lowerAppend(PhaseEmitter &e, kern::AppendOp op) {
  CacheWriter writer(e, op);
  int64_t heads = cast<kern::CacheType>(op.getCache().getType()).getHeads();
  // Iterate head by head, so that a panel's lines stay in the cache while its
  // rows are written.
  IndexPair rows = e.workerRange(e.numRows(op.getKey()));
  e.forRange(heads, [&](Index head) {
    e.forLoop(rows.first, rows.second, 1,
              [&](Index row) { writer.emit(head, row); });
  });
}

void lower::addCacheLowerings(Lowerings &lowerings) {
  lowerings.add<kern::AppendOp, lowerAppend>();
}
