// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes operand addresses for attention. The queries in a work item are rows
// for one head or, if a single row reads a cache, the heads that share a key
// head. Keys and values are in buffers or in cache blocks.
#include "passes/lower/attention/AttentionEmitter.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

AttentionEmitter::Sequence AttentionEmitter::loadSequence(Index i,
                                                          Index blockRows) {
  // Load the entries in both ragged batches.
  auto getEntry = [&](Value ragged) {
    Value table =
        e.raggedTable(ragged, offsetof(transom_ragged_batch, sequences));
    return e.advance(table, i * sizeof(transom_sequence));
  };
  Value query = getEntry(op.getQueryRagged()),
        key = getEntry(op.getKeyRagged());
  auto load = [&](Value base, int64_t offset) {
    return e.loadI64(e.advance(base, offset));
  };
  Sequence s;
  s.index = i;
  s.firstRow = load(query, offsetof(transom_sequence, first_token));
  s.numRows = load(query, offsetof(transom_sequence, num_tokens));
  s.firstKeyRow = load(key, offsetof(transom_sequence, first_token));
  s.numKeys = load(key, offsetof(transom_sequence, num_keys));
  s.keyBase = load(key, offsetof(transom_sequence, key_base));
  s.firstBlock = load(key, offsetof(transom_sequence, first_block));

  // Divide the queries into work items.
  s.numQueries = s.numRows;
  s.numHeads = e.i64(heads);
  if (packsHeads()) {
    s.packed = s.numRows == 1;
    s.numQueries = select(*s.packed, group, s.numRows);
    s.numHeads = select(*s.packed, heads / group, s.numHeads);
  }
  s.blocksPerHead = ceilDiv(s.numQueries, blockRows);
  s.numKvBlocks = max(ceilDiv(s.numKeys, kvBlockSize), 1);

  // The cost per item: its queries times the keys that they see, in panels.
  Index keys = s.numKeys;
  if (op.getWindow())
    keys = min(keys, op.getWindow() * (op.getCausal() ? 1 : 2));
  Index queries = s.numQueries / max(s.blocksPerHead, 1);
  s.cost = queries * (ceilDiv(keys, panelWidth) * panelWidth) + getItemCost();
  return s;
}

//===----------------------------------------------------------------------===//
// Queries and results
//===----------------------------------------------------------------------===//

Index AttentionEmitter::queryStride(const Sequence &s, Value buffer,
                                    int64_t width) {
  Index stride = e.rowStride(buffer);
  return s.packed ? select(*s.packed, width, stride) : stride;
}

Value AttentionEmitter::queryAddress(const WorkItem &item, Value buffer,
                                     int64_t width, Index query) {
  const Sequence &s = item.s;
  Index headWidth = e.i64(width);
  if (s.packed)
    headWidth = select(*s.packed, group * width, headWidth);
  Index line = (item.firstQuery + query) * queryStride(s, buffer, width);
  Index offset =
      s.firstRow * e.rowStride(buffer) + (item.head * headWidth + line);
  int64_t bytes = getBufferType(buffer).getElementBytes();
  return e.advance(e.pointer(buffer), offset * bytes);
}

Index AttentionEmitter::queryHead(const WorkItem &item, Index query) {
  if (!item.s.packed)
    return item.head;
  Index line = item.firstQuery + query;
  return select(*item.s.packed, item.head * group + line, item.head);
}

Index AttentionEmitter::queryPosition(const Sequence &s, Index query) {
  Index row = s.packed ? select(*s.packed, 0, query) : query;
  // New tokens, and queries in another ragged batch, are aligned with the last
  // keys.
  bool own = op.getQueryRagged().getType() == op.getKeyRagged().getType();
  if (own && !op.getCache())
    return row;
  return row + (s.numKeys - s.numRows);
}

IndexPair AttentionEmitter::visibleKeys(const Sequence &s, Index query) {
  if (op.getByColumn())
    return visibleByColumn(s, query);
  Index from = e.i64(0), to = s.numKeys, own = queryPosition(s, query);
  if (op.getCausal())
    to = min(to, own + 1);
  if (op.getWindow()) {
    from = max(from, own - int64_t(op.getWindow() - 1));
    if (!op.getCausal())
      to = min(to, own + op.getWindow());
  }
  return {from, to};
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

Index AttentionEmitter::keyHead(const Sequence &s, Index head) {
  Index shared = head / group;
  return s.packed ? select(*s.packed, head, shared) : shared;
}

Value AttentionEmitter::cacheBlock(const Sequence &s, Index key) {
  Index index = s.firstBlock + key / kvBlockSize;
  Value block = e.loadPtr(e.advance(e.blockTable(op.getCache()), index * 8));
  return e.advance(block, e.offsetInBlock(op.getCache()));
}

int64_t AttentionEmitter::getKeyPanelBytes() {
  int64_t columns =
      op.getCache() ? op.getCacheType().getDepth()
                    : *getBufferType(op.getKey()).getDims().back().constant();
  return columns * panelWidth * getValueBytes();
}

Value AttentionEmitter::keysFrom(const Sequence &s, Index head, Index key) {
  Index own = keyHead(s, head);
  if (op.getCache())
    return e.advance(cacheBlock(s, key),
                     own * (getKeyPanelBytes() * kvBlockSize / panelWidth));
  Index panel = (s.keyBase + key) / panelWidth;
  Index offset =
      panel * getKeyPanelBytes() + own * (dk * panelWidth * getValueBytes());
  return e.advance(e.pointer(op.getKey()), offset);
}

Value AttentionEmitter::valuesFrom(const Sequence &s, Index head, Index key) {
  Index own = keyHead(s, head);
  if (op.getCache())
    return e.advance(cacheBlock(s, key),
                     own * (kvBlockSize * dv * getValueBytes()) +
                         op.getCacheType().getKeyBytes());
  Index row = (s.firstKeyRow + key) * e.rowStride(op.getValue());
  return e.advance(e.pointer(op.getValue()),
                   (row + own * dv) * getValueBytes());
}

Value AttentionEmitter::scalesFrom(const Sequence &s, Index head, Index key,
                                   int64_t offset) {
  return e.advance(cacheBlock(s, key),
                   keyHead(s, head) * (kvBlockSize * 4) + offset);
}
