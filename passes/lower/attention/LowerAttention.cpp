// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention: work division and the loop over KV blocks. The costs of all work
// items are added up in order, and each worker computes the items whose cost
// begins in its share of the total. For each KV block: scores, their maximum,
// probabilities and their sum, and a matmul with the values that starts from
// zero; KV blocks are merged in order (online softmax).
#include "passes/Remarks.h"
#include "passes/lower/attention/AttentionEmitter.h"
#include "passes/lower/ops/LowerOps.h"
#include "runtime/abi/Abi.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The lowering for keys or values: in the cache, if there is one, or in a
/// buffer.
static const OperandLowering &getOperandLowering(kern::AttentionOp op,
                                                 Value buffer) {
  return op.getCache() ? OperandLowering::get(op.getCacheType().getFormat())
                       : getLowering(buffer);
}

AttentionEmitter::AttentionEmitter(PhaseEmitter &e, kern::AttentionOp op)
    : e(e), op(op), schedule(op.getSchedule()),
      keyFormat(getOperandLowering(op, op.getKey())),
      valueFormat(getOperandLowering(op, op.getValue())) {
  heads = op.getHeads();
  group = heads / op.getKvHeads();
  kern::BufferType query = getBufferType(op.getQuery());
  dk = *query.getDims().back().constant() / heads;
  dv = *getBufferType(op.getOuts()).getDims().back().constant() / heads;
  valueStride = llvm::alignTo(dv, panelWidth);
  int64_t heldBlocks = schedule.isTwoPass() ? kern::kTwoPassBlocks : 1;
  scoreStride = kern::getScoreStride(schedule);

  queryBlock = kern::getQueryBlock(op.suitsAmx());

  // Divide this worker's row in the scratch buffer.
  Index stride = e.rowStride(op.getScratch()) * 4;
  Value next = e.advance(e.pointer(op.getScratch()), e.worker() * stride);
  auto take = [&](int64_t floats) {
    Value taken = next;
    next = e.advance(next, floats * 4);
    return taken;
  };
  scores = take(queryBlock * scoreStride);
  maxima = take(heldBlocks * queryBlock * kLanes);
  state.output = take(queryBlock * valueStride);
  blockState.output = take(queryBlock * valueStride);
  for (Value *rowValues : {&state.maximum, &state.sum, &blockState.maximum,
                           &blockState.sum, &stateFactors, &blockFactors})
    *rowValues = take(kern::kRowValues);
  valuePanels = next;
}

void AttentionEmitter::report() {
  const MicroKernels &kernels = e.kernels();
  const int64_t computed = llvm::alignTo(dv, kLanes);
  e.getModuleInfo().getRemarks().report(
      op, {RemarkId::AttentionTiled,
           {{"isa", kernels.getIsa().name},
            {"score_rows", usesAmx() ? amxRows : kernels.getMaxMr(keyFormat)},
            {"value_rows", usesAmx() ? amxRows : kernels.getMaxMr(valueFormat)},
            {"columns", kernels.getNr()},
            {"used", dv},
            {"computed", computed},
            {"waste", 100 * (computed - dv) / computed}}});
  reportWidening(e, op, valueFormat);
  reportDivision();
}

/// Reports the work item sizes.
void AttentionEmitter::reportDivision() {
  Remarks &remarks = e.getModuleInfo().getRemarks();
  const RemarkArgument isa("isa", e.getIsa().name);
  const int64_t largest = getLargestBlock();
  remarks.report(
      op,
      {RemarkId::AttentionDivided,
       {isa,
        {"queries", schedule.maxRows ? std::to_string(schedule.maxRows)
                                     : llvm::formatv("{0}, {1} or {2}", largest,
                                                     largest / 2, largest / 3)
                                           .str()}}});
  if (group > 1)
    remarks.report(op, {packsHeads() ? RemarkId::HeadsArePacked
                                     : RemarkId::HeadsAreNotPacked,
                        {isa, {"heads", group}}});
}

void AttentionEmitter::emit() {
  report();
  blockRows = chooseBlockRows();
  auto emitItems = [&] {
    distribute(
        [&](const Sequence &s) { return IndexPair(s.getNumItems(), s.cost); },
        [&](const Sequence &s, Index index, Index) { emitItem(s, index); });
  };
  if (usesAmx())
    startAmx();
  if (!op.getPartials())
    emitItems();
  else
    e.ifThen(shouldSplitKv(), [&] { emitSplitKv(); }, emitItems);
  if (usesAmx())
    releaseTiles(e);
}

//===----------------------------------------------------------------------===//
// Work division
//===----------------------------------------------------------------------===//

Index AttentionEmitter::batchSize() {
  return e.raggedField(op.getQueryRagged(),
                       offsetof(transom_ragged_batch, num_sequences));
}

Index AttentionEmitter::chooseBlockRows() {
  if (schedule.maxRows)
    return e.i64(schedule.maxRows);
  const int64_t largest = getLargestBlock();
  Index rows = e.numRows(op.getQuery()) * heads, batch = batchSize();

  // Large blocks are best unless they are so few that workers would be idle:
  // then compare the maximum size, a half and a third of it.
  Bool many = e.numWorkers() * (8 * largest) <= rows;
  Index numCandidates = select(many, 0, 3);
  auto chooseBetter = [&](Index i, IndexPair best) -> IndexPair {
    Index candidate = e.i64(largest) / (i + 1);
    auto [numItems, numKeys] = e.foldRange(
        batch, {e.i64(0), e.i64(0)},
        [&](Index index, IndexPair sums) -> IndexPair {
          Sequence s = loadSequence(index, candidate);
          Index items = sums.first + s.getNumItems();
          return {items,
                  sums.second + ceilDiv(s.numKeys, panelWidth) * panelWidth};
        });
    // The cost for the busiest worker, with average rows and keys per item.
    Index items = max(numItems, 1);
    Index keys = numKeys / max(batch, 1);
    Index most = ceilDiv(items, e.numWorkers());
    Index cost = most * (rows / items * keys + getItemCost());
    Bool better = cost < best.second;
    Index size = select(better, candidate, best.first);
    return {size, select(better, cost, best.second)};
  };
  return e
      .foldRange(numCandidates, {e.i64(largest), e.i64(INT64_MAX)},
                 chooseBetter)
      .first;
}

void AttentionEmitter::distribute(
    function_ref<IndexPair(const Sequence &)> work,
    function_ref<void(const Sequence &, Index, Index)> body) {
  // Divide the total cost among the workers.
  Index batch = batchSize();
  Index total = e.foldRange(e.i64(0), batch, e.i64(0), [&](Index i, Index sum) {
    auto [count, cost] = work(loadSequence(i, blockRows));
    return sum + count * cost;
  });
  IndexPair share = e.workerRange(total);

  // Run the items whose cost begins in this worker's share. Carried values:
  // cost and item count before the sequence.
  e.foldRange(batch, {e.i64(0), e.i64(0)},
              [&](Index i, IndexPair before) -> IndexPair {
                Sequence s = loadSequence(i, blockRows);
                IndexPair countAndCost = work(s);
                Index count = countAndCost.first, cost = countAndCost.second;
                auto firstItemFrom = [&](Index bound) {
                  Index distance = max(bound - before.first, 0);
                  return min(ceilDiv(distance, cost), count);
                };
                Index from = firstItemFrom(share.first);
                e.forLoop(from, firstItemFrom(share.second), 1,
                          [&](Index item) { body(s, item, before.second); });
                Index costSoFar = before.first + count * cost;
                return {costSoFar, before.second + count};
              });
}

AttentionEmitter::WorkItem AttentionEmitter::getWorkItem(const Sequence &s,
                                                         Index index) {
  Index count = s.blocksPerHead, head = index / count, block = index % count;
  // In causal attention, the first blocks see few keys and the last ones many.
  // Take them alternately from both ends, so that consecutive items have equal
  // average costs.
  if (op.getCausal() && !op.getWindow()) {
    Index half = block / 2;
    Bool odd = block % 2 == 1;
    block = select(odd, count - 1 - half, half);
  }
  Index first = block * s.numQueries / count;
  Index end = (block + 1) * s.numQueries / count;

  // The keys that the first and the last query see.
  Index from = e.i64(0), to = s.numKeys;
  if (isBounded() && op.getByColumn()) {
    KeyRanges ranges = getKeyRanges(s, first, end);
    from = ranges.someFrom;
    to = max(ranges.someTo, from);
  } else if (isBounded()) {
    from = max(visibleKeys(s, first).first, 0);
    to = max(visibleKeys(s, end - 1).second, from);
  }
  Index next = min(index + 1, count * s.numHeads - 1);
  return {s, head, first, end - first, from, to, next};
}

void AttentionEmitter::setKvBlocks(WorkItem &item) {
  item.firstKvBlock = item.from / kvBlockSize;
  item.lastKvBlock = max(ceilDiv(item.to, kvBlockSize), item.firstKvBlock + 1);
}

AttentionEmitter::KvBlock AttentionEmitter::getKvBlock(const WorkItem &item,
                                                       Index index) {
  Index base = index * kvBlockSize;
  Index end = min(item.to, base + kvBlockSize);
  // With a window, skip the panels before the first visible key.
  Index start = base;
  if (op.getWindow()) {
    Index skipped = max(item.from - base, 0);
    start = base + (skipped - skipped % panelWidth);
  }
  KvBlock block;
  block.base = base;
  block.start = start;
  block.end = end;
  block.keys = block.nextKeys = keysFrom(item.s, item.head, base);
  block.values = block.nextValues = valuesFrom(item.s, item.head, base);
  block.scores = scores;
  block.maxima = maxima;
  if (hasScales()) {
    kern::CacheType cache = op.getCacheType();
    block.keyScales = scalesFrom(item.s, item.head, base, cache.getKeyScales());
    block.valueScales =
        scalesFrom(item.s, item.head, base, cache.getValueScales());
  }
  return block;
}

//===----------------------------------------------------------------------===//
// Prefetching
//===----------------------------------------------------------------------===//

/// Prefetches `bytes` in each row, `stride` bytes apart: too far for the
/// hardware prefetcher.
void AttentionEmitter::prefetchRows(Value first, Index rows, Index stride,
                                    int64_t bytes) {
  e.forRange(rows, [&](Index row) {
    Value line = e.advance(first, row * stride);
    for (int64_t at = 0; at < bytes; at += 64)
      e.prefetch(e.advance(line, at));
  });
}

/// Prefetches an item's results and the next item's queries.
void AttentionEmitter::prefetchItem(const WorkItem &item) {
  int64_t outBytes = getBufferType(op.getOuts()).getElementBytes();
  int64_t bytes = getBufferType(op.getQuery()).getElementBytes();
  prefetchRows(outputAddress(item, e.i64(0)), item.numQueries,
               queryStride(item.s, op.getOuts(), dv) * outBytes, dv * outBytes);
  WorkItem next = getWorkItem(item.s, item.next);
  prefetchRows(inputAddress(next, e.i64(0)), next.numQueries,
               queryStride(item.s, op.getQuery(), dk) * bytes, dk * bytes);
}

/// Sets the prefetch addresses for a KV block: the item's next KV block, or the
/// next item's first one.
void AttentionEmitter::setPrefetch(KvBlock &block, const WorkItem &item,
                                   Index index) {
  WorkItem next = getWorkItem(item.s, item.next);
  Bool more = index + 1 < item.lastKvBlock;
  Index head = select(more, item.head, next.head);
  Index first = next.from - next.from % kvBlockSize;
  Index key = select(more, block.base + kvBlockSize, first);
  block.nextKeys = keysFrom(item.s, head, key);
  block.nextValues = valuesFrom(item.s, head, key);
}

//===----------------------------------------------------------------------===//
// KV blocks in a work item
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitItem(const Sequence &s, Index index) {
  WorkItem item = getWorkItem(s, index);
  prefetchItem(item);
  setKvBlocks(item);
  std::optional<Bool> twoPass;
  if (schedule.isTwoPass()) {
    twoPass = item.lastKvBlock - item.firstKvBlock <= kern::kTwoPassBlocks;
    e.ifThen(*twoPass, [&] { emitFirstPass(item); });
  }
  emitKvBlocks(item, twoPass);
  quantizeResults(item);
}

/// Computes the scores for all KV blocks.
void AttentionEmitter::emitFirstPass(const WorkItem &item) {
  e.forLoop(item.firstKvBlock, item.lastKvBlock, 1, [&](Index index) {
    KvBlock block = getKvBlock(item, index);
    setPrefetch(block, item, index);
    Index held = index - item.firstKvBlock;
    block.scores = e.advance(scores, held * (kvBlockSize * 4));
    block.maxima = e.advance(maxima, held * (queryBlock * kLanes * 4));
    emitScores(item, block);
  });
}

void AttentionEmitter::emitKvBlocks(const WorkItem &item,
                                    std::optional<Bool> twoPass) {
  Bool isOnly = item.lastKvBlock - item.firstKvBlock == 1;
  e.forLoop(item.firstKvBlock, item.lastKvBlock, 1, [&](Index index) {
    // Compute the scores unless the first pass has.
    KvBlock block = getKvBlock(item, index);
    setPrefetch(block, item, index);
    if (twoPass) {
      Index held = select(*twoPass, index - item.firstKvBlock, 0);
      block.scores = e.advance(scores, held * (kvBlockSize * 4));
      block.maxima = e.advance(maxima, held * (queryBlock * kLanes * 4));
      e.ifThen(logicalNot(*twoPass), [&] { emitScores(item, block); });
    } else {
      emitScores(item, block);
    }

    // The first KV block initializes the softmax state.
    Bool isFirst = index == item.firstKvBlock;
    SoftmaxState target{e.select(isFirst, state.output, blockState.output),
                        e.select(isFirst, state.maximum, blockState.maximum),
                        e.select(isFirst, state.sum, blockState.sum)};
    emitSoftmax(item, block, target);
    packValues(item, block);

    // A single KV block computes the result; others are merged into the state.
    e.ifThen(
        isOnly, [&] { emitProduct(item, block, Value(), target.sum); },
        [&] {
          emitProduct(item, block, target.output, Value());
          e.ifThen(logicalNot(isFirst), [&] {
            emitMerge(item, state, blockState, index + 1 == item.lastKvBlock);
          });
        });
  });
}

static void lowerAttention(PhaseEmitter &e, kern::AttentionOp op) {
  AttentionEmitter(e, op).emit();
}

void lower::addAttentionLowerings(Lowerings &lowerings) {
  lowerings.add<kern::AttentionOp, lowerAttention>();
}
