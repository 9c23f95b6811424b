// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, where its operands lie: lines of queries and results, which are
// rows of a head or, where a single row reads a cache, the heads that share a
// key head; keys and values in buffers or in the blocks of a cache.
#include "passes/lower/attention/AttentionPhase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

using kern::kPanel;
using kern::kKvBlock;

AttentionPhase::Sequence AttentionPhase::sequence(Value i, Value height) {
  auto at = [&](Value ragged) {
    Value table = e.loadPtr(
        e.advance(e.ragged(ragged), offsetof(transom_ragged_batch, sequences)));
    return e.advance(table, e.mul(i, sizeof(transom_sequence)));
  };
  Value query = at(op.getQueryRagged()), key = at(op.getKeyRagged());
  auto get = [&](Value base, int64_t offset) {
    return e.loadI64(e.advance(base, offset));
  };
  Sequence s;
  s.index = i;
  s.firstRow = get(query, offsetof(transom_sequence, first_token));
  s.rows = get(query, offsetof(transom_sequence, num_tokens));
  s.firstKeyRow = get(key, offsetof(transom_sequence, first_token));
  s.keys = get(key, offsetof(transom_sequence, num_keys));
  s.keyBase = get(key, offsetof(transom_sequence, key_base));
  s.firstBlock = get(key, offsetof(transom_sequence, first_block));
  s.lines = s.rows;
  s.heads = e.i64(heads);
  if (op.getCache() && group > 1) {
    s.joined = e.equal(s.rows, e.i64(1));
    s.lines = e.select(s.joined, e.i64(group), s.rows);
    s.heads = e.select(s.joined, e.i64(heads / group), s.heads);
  }
  s.blocks = e.div(e.add(s.lines, e.sub(height, e.i64(1))), height);
  s.pieces = e.max(e.ceilDiv(s.keys, kKvBlock), e.i64(1));
  // Lines of a block times the panels of keys they see, and what a block costs
  // besides, as measured: as much as 256 scores where dk = dv = 32.
  Value keys = s.keys;
  if (op.getWindow())
    keys = e.min(keys, e.i64(op.getWindow() * (op.getCausal() ? 1 : 2)));
  Value lines = e.div(s.lines, e.max(s.blocks, e.i64(1)));
  s.cost =
      e.add(e.mul(lines, e.mul(e.ceilDiv(keys, kPanel), kPanel)), blockCost());
  return s;
}

//===----------------------------------------------------------------------===//
// Queries and results
//===----------------------------------------------------------------------===//

/// Elements from one line to the next in rows of heads of this width.
Value AttentionPhase::lineStride(const Sequence &s, Value buffer,
                                 int64_t width) {
  Value stride = e.rowStride(buffer);
  return s.joined ? e.select(s.joined, e.i64(width), stride) : stride;
}

/// A line of the unit in a buffer of rows of heads of this width.
Value AttentionPhase::lineAt(const Unit &u, Value buffer, int64_t width,
                             Value row) {
  const Sequence &s = u.s;
  Value headWidth = e.i64(width);
  if (s.joined)
    headWidth = e.select(s.joined, e.i64(group * width), headWidth);
  Value line = e.mul(e.add(u.first, row), lineStride(s, buffer, width));
  Value offset = e.add(e.mul(s.firstRow, e.rowStride(buffer)),
                       e.add(e.mul(u.head, headWidth), line));
  int64_t bytes = PhaseEmitter::typeOf(buffer).getElementBytes();
  return e.advance(e.pointer(buffer), e.mul(offset, bytes));
}

/// The head of a line of the unit.
Value AttentionPhase::queryHead(const Unit &u, Value row) {
  if (!u.s.joined)
    return u.head;
  Value line = e.add(u.first, row);
  return e.select(u.s.joined, e.add(e.mul(u.head, group), line), u.head);
}

/// The position of a line of the sequence among its keys.
Value AttentionPhase::position(const Sequence &s, Value line) {
  Value row = s.joined ? e.select(s.joined, e.i64(0), line) : line;
  // Queries of other ragged, and new rows, are aligned with the last keys.
  bool own = op.getQueryRagged().getType() == op.getKeyRagged().getType();
  if (own && !op.getCache())
    return row;
  return e.add(row, e.sub(s.keys, s.rows));
}

/// The range of keys of the sequence that a line may see.
std::pair<Value, Value> AttentionPhase::visible(const Sequence &s, Value line) {
  if (op.getByColumn())
    return visibleByColumn(s, line);
  Value from = e.i64(0), to = s.keys, own = position(s, line);
  if (op.getCausal())
    to = e.min(to, e.add(own, 1));
  if (op.getWindow()) {
    from = e.max(from, e.sub(own, e.i64(op.getWindow() - 1)));
    if (!op.getCausal())
      to = e.min(to, e.add(own, op.getWindow()));
  }
  return {from, to};
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

/// The key head that a head of the sequence reads.
Value AttentionPhase::keyHead(const Sequence &s, Value head) {
  Value shared = e.div(head, e.i64(group));
  return s.joined ? e.select(s.joined, head, shared) : shared;
}

/// The layer's part of the block of a cache that holds a key.
Value AttentionPhase::blockOf(const Sequence &s, Value key) {
  Value index = e.add(s.firstBlock, e.div(key, e.i64(kKvBlock)));
  Value block = e.loadPtr(e.advance(e.blocks(op.getCache()), e.mul(index, 8)));
  return e.advance(block, e.offsetInBlock(op.getCache()));
}

/// From one panel of a head's keys to the next.
int64_t AttentionPhase::keyPanelBytes() {
  int64_t columns =
      op.getCache()
          ? op.getCacheType().getDepth()
          : *PhaseEmitter::typeOf(op.getKey()).getDims().back().constant();
  return columns * kPanel * valueBytes();
}

/// Keys of a head from the first one of a piece on, in panels.
Value AttentionPhase::keysFrom(const Sequence &s, Value head, Value key) {
  Value own = keyHead(s, head);
  if (op.getCache())
    return e.advance(blockOf(s, key),
                     e.mul(own, keyPanelBytes() * kKvBlock / kPanel));
  Value panel = e.div(e.add(s.keyBase, key), e.i64(kPanel));
  Value offset = e.add(e.mul(panel, keyPanelBytes()),
                       e.mul(own, dk * kPanel * valueBytes()));
  return e.advance(e.pointer(op.getKey()), offset);
}

/// Values of a head from the first key of a piece on.
Value AttentionPhase::valuesFrom(const Sequence &s, Value head, Value key) {
  Value own = keyHead(s, head);
  if (op.getCache())
    return e.advance(blockOf(s, key),
                     e.add(e.mul(own, kKvBlock * dv * valueBytes()),
                           e.i64(op.getCacheType().getKeyBytes())));
  Value row = e.mul(e.add(s.firstKeyRow, key), e.rowStride(op.getValue()));
  return e.advance(e.pointer(op.getValue()),
                   e.mul(e.add(row, e.mul(own, dv)), valueBytes()));
}

/// Scales of a head's keys or values, which lie at this offset of the layer.
Value AttentionPhase::scalesFrom(const Sequence &s, Value head, Value key,
                                 int64_t offset) {
  return e.advance(blockOf(s, key),
                   e.add(e.mul(keyHead(s, head), kKvBlock * 4), e.i64(offset)));
}
