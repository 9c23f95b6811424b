// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Distributes the KV blocks of a work item over workers, for few items with
// many keys. Each KV block stores its result, maxima and sums in its own slot;
// the worker that finishes an item's last KV block merges them in order.
#include "passes/lower/attention/AttentionEmitter.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kSplitKvSlots;

/// Whether all KV blocks have slots and, for the schedule `auto`, there are too
/// few work items to use all workers.
Bool AttentionEmitter::shouldSplitKv() {
  // Count the work items and their KV blocks.
  auto [numItems, numKvBlocks] =
      e.foldRange(batchSize(), {e.i64(0), e.i64(0)},
                  [&](Index i, IndexPair sums) -> IndexPair {
                    Sequence s = loadSequence(i, blockRows);
                    Index items = s.getNumItems();
                    Index all = sums.first + items;
                    return {all, sums.second + items * s.numKvBlocks};
                  });
  Bool fits = numKvBlocks <= e.numWorkers() * kSplitKvSlots;
  if (schedule.kind == kern::AttentionSchedule::Kind::SplitKv)
    return fits;

  // Do not split items if the busiest worker has at most 1/8 more than the
  // average.
  Index busiest = ceilDiv(numItems, e.numWorkers());
  Bool few = numItems < e.numWorkers() * 4;
  Bool uneven = numItems * 9 < busiest * e.numWorkers() * 8;
  Bool split = logicalAnd(fits, logicalAnd(few, uneven));
  return logicalAnd(split, numItems < numKvBlocks);
}

void AttentionEmitter::emitSplitKv() {
  // All KV blocks in an item have equal costs, except for the last one.
  auto work = [&](const Sequence &s) {
    Index cost = ceilDiv(s.cost, s.numKvBlocks);
    return IndexPair(s.getNumItems() * s.numKvBlocks, cost);
  };
  distribute(work, [&](const Sequence &s, Index index, Index before) {
    Index itemIndex = index / s.numKvBlocks, block = index % s.numKvBlocks;
    Index firstSlot = before + itemIndex * s.numKvBlocks;
    WorkItem item = getWorkItem(s, itemIndex);
    setKvBlocks(item);
    Bool isSeen =
        logicalAnd(item.firstKvBlock <= block, block < item.lastKvBlock);
    e.ifThen(isSeen, [&] { emitSplitKvBlock(item, block, firstSlot); });
  });
}

/// Computes one KV block in an item whose slots begin at `firstSlot`.
void AttentionEmitter::emitSplitKvBlock(const WorkItem &item, Index index,
                                        Index firstSlot) {
  KvBlock block = getKvBlock(item, index);
  setPrefetch(block, item, index);
  SoftmaxState slot = getSlot(firstSlot + index);
  emitScores(item, block);
  emitSoftmax(item, block, slot);
  packValues(item, block);

  // A single KV block computes the result.
  Index count = item.lastKvBlock - item.firstKvBlock;
  auto emitOnly = [&] {
    emitProduct(item, block, Value(), slot.sum);
    quantizeResults(item);
  };

  // Otherwise count the item's finished KV blocks. The worker that finishes the
  // last one resets the counter and merges all.
  auto emitAndMerge = [&] {
    emitProduct(item, block, slot.output, Value());
    Value counter = e.advance(e.pointer(op.getCounters()), firstSlot * 8);
    Index finished = e.atomicAdd(counter, e.i64(1));
    e.ifThen(finished == count - 1, [&] {
      e.store(e.i64(0), counter);
      SoftmaxState merged = getSlot(firstSlot + item.firstKvBlock);
      e.forLoop(item.firstKvBlock + 1, item.lastKvBlock, 1, [&](Index next) {
        SoftmaxState other = getSlot(firstSlot + next);
        emitMerge(item, merged, other, next + 1 == item.lastKvBlock);
      });
      quantizeResults(item);
    });
  };
  e.ifThen(count == 1, emitOnly, emitAndMerge);
}

AttentionEmitter::SoftmaxState AttentionEmitter::getSlot(Index index) {
  const int64_t floats = kern::getAttentionSlotFloats(dv, op.suitsAmx());
  Value slot = e.advance(e.pointer(op.getPartials()), index * (floats * 4));
  Value rowValues = e.advance(slot, queryBlock * valueStride * 4);
  return {slot, rowValues, e.advance(rowValues, kern::kRowValues * 4)};
}
