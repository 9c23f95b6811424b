// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions in a ragged batch given by token columns, which increase from key
// to key and may have gaps. Windows become key ranges; biases use the distance
// between two columns. A hidden column 0 that is preserved is the last row in
// its sequence and not a key.
#include "passes/lower/attention/AttentionEmitter.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// Address of a row's entry in the column table.
Value AttentionEmitter::columnAddress(Index row) {
  Value table = e.raggedTable(op.getQueryRagged(),
                              offsetof(transom_ragged_batch, token_column));
  return e.advance(table, row * 4);
}

Index AttentionEmitter::loadColumn(Index row) {
  return e.extendI32(e.load(e.builder().getI32Type(), columnAddress(row)));
}

/// The index of the first key in the sequence whose column is at least
/// `column`. Without gaps, it follows from the first column. With gaps, it is
/// smaller by at most the gap count, and found by bisection.
Index AttentionEmitter::firstKeyFrom(const Sequence &s, Index column) {
  Index zero = e.i64(0), last = max(s.numKeys - 1, zero);
  Index firstColumn = loadColumn(s.firstRow),
        lastColumn = loadColumn(s.firstRow + last);
  Index gaps = lastColumn - firstColumn - last;
  Index highest = column - firstColumn;
  Index high = min(max(highest, zero), s.numKeys);
  Index low = min(max(highest - gaps, zero), s.numKeys);
  // 31 halvings suffice for any row range.
  Index halvings = select(low < high, 31, zero);
  return e
      .foldRange(halvings, {low, high},
                 [&](Index, IndexPair range) -> IndexPair {
                   Index middle = (range.first + range.second) / 2;
                   Index row = s.firstRow + min(middle, last);
                   Bool open = range.first < range.second;
                   Bool before = logicalAnd(open, loadColumn(row) < column);
                   Index from = select(before, middle + 1, range.first);
                   return {from, select(before, range.second, middle)};
                 })
      .first;
}

/// The key range in the sequence that a query sees.
IndexPair AttentionEmitter::visibleByColumn(const Sequence &s, Index query) {
  Index own = loadColumn(s.firstRow + query);
  Index from = e.i64(0), to = s.numKeys;
  if (op.getCausal())
    to = firstKeyFrom(s, own + 1);
  if (op.getWindow()) {
    from = firstKeyFrom(s, own - int64_t(op.getWindow() - 1));
    if (!op.getCausal())
      to = firstKeyFrom(s, own + op.getWindow());
  }
  return {from, to};
}

/// The ranges that all queries in [first, end) see, and that any of them sees.
/// Ranges increase from query to query except for a preserved column 0, which
/// is last.
AttentionEmitter::KeyRanges
AttentionEmitter::getKeyRanges(const Sequence &s, Index first, Index end) {
  Index last = end - 1;
  IndexPair head = visibleKeys(s, first), tail = visibleKeys(s, last);
  Index inOrder = max(min(last, s.numKeys - 1), first);
  IndexPair middle = visibleKeys(s, inOrder);
  Index allFrom = max(middle.first, tail.first);
  Index allTo = min(head.second, tail.second);
  Index someFrom = min(head.first, tail.first);
  return {allFrom, allTo, someFrom, max(middle.second, tail.second)};
}

/// The distances from a query to 16 keys, as i32.
Value AttentionEmitter::keyDistances(const WorkItem &item, Index query,
                                     Index key) {
  OpBuilder &b = e.builder();
  Index line = item.firstQuery + query;
  auto splatI32 = [&](Index integer) {
    Value narrow =
        b.create<arith::TruncIOp>(e.location(), b.getI32Type(), integer);
    return e.splat(narrow);
  };
  // By column: the columns for 16 keys minus the query's column.
  if (op.getByColumn()) {
    Value seen = e.laneMask(item.s.numKeys - key);
    Value columns = e.loadVector(b.getI32Type(),
                                 columnAddress(item.s.firstRow + key), seen);
    Index own = loadColumn(item.s.firstRow + line);
    return b.create<arith::SubIOp>(e.location(), columns, splatI32(own));
  }
  // By position: consecutive integers.
  SmallVector<int32_t> lanes;
  for (int32_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value numbers =
      b.create<arith::ConstantOp>(e.location(), b.getI32VectorAttr(lanes));
  return b.create<arith::AddIOp>(e.location(), numbers,
                                 splatI32(key - queryPosition(item.s, line)));
}

/// Gathers table elements at 16 i32 indices; lanes that `mask` disables are not
/// accessed.
static Value gatherAt(PhaseEmitter &e, Type element, Value table, Value index,
                      Value mask) {
  OpBuilder &b = e.builder();
  Value pointers = b.create<LLVM::GEPOp>(
      e.location(), LLVM::getFixedVectorType(e.ptrType(), kLanes), element,
      table, ArrayRef<LLVM::GEPArg>{index});
  VectorType type = e.getVectorType(element);
  Value zero = b.create<arith::ConstantOp>(e.location(), b.getZeroAttr(type));
  return b.create<LLVM::masked_gather>(e.location(), type, pointers, mask,
                                       ValueRange{zero}, 4);
}

Value AttentionEmitter::distanceIndices(const WorkItem &item, Index query,
                                        Index key, int64_t reach) {
  OpBuilder &b = e.builder();
  const auto bound = static_cast<int32_t>(reach);
  Value near = b.create<arith::MinSIOp>(
      e.location(), keyDistances(item, query, key), e.splatI32(bound));
  return b.create<arith::AddIOp>(
      e.location(),
      b.create<arith::MaxSIOp>(e.location(), near, e.splatI32(-bound)),
      e.splatI32(bound));
}

/// Adds the relative bias for the query's head at the distances to 16 keys.
Value AttentionEmitter::addRelativeBias(Value t, const WorkItem &item,
                                        Index query, Index key) {
  if (!op.getRelativeBias())
    return t;
  auto type = cast<kern::WeightType>(op.getRelativeBias().getType());
  int64_t width = type.getShape()[1];
  Value index = distanceIndices(item, query, key, width / 2);
  Value table = e.advance(e.weight(op.getRelativeBias()),
                          queryHead(item, query) * (width * 4));
  Value bias = gatherAt(e, e.f32Type(), table, index,
                        e.logicalNot(e.laneMask(e.i64(0))));
  return e.fma(bias, e.splat(kLog2E), t);
}

//===----------------------------------------------------------------------===//
// Products with relative positions
//===----------------------------------------------------------------------===//

AttentionEmitter::PositionRow
AttentionEmitter::getPositionRow(const WorkItem &item, Index query) {
  PositionRow own{*op.getPositionBuckets(), query};
  own.table = e.positionTable(own.rule);
  Index line = item.firstQuery + query;
  if (op.getByColumn()) {
    Index first = loadColumn(item.s.firstRow),
          last = loadColumn(item.s.firstRow + max(item.s.numKeys - 1, 0));
    own.distance = first - loadColumn(item.s.firstRow + line);
    own.withoutGaps = last - first == item.s.numKeys - 1;
  } else {
    own.distance = e.i64(0) - queryPosition(item.s, line);
  }
  if (Value scores = op.getContentToPosition()) {
    Index row = item.head * e.numRows(op.getQuery()) + (item.s.firstRow + line);
    own.row = e.advance(e.pointer(scores), row * e.rowStride(scores) * 4);
  }
  return own;
}

/// Adds the query's and 16 keys' products with the relative positions at their
/// distances.
Value AttentionEmitter::addPositionScores(Value t, const WorkItem &item,
                                          const PositionRow &own, Index key) {
  // Without gaps, the distances are consecutive, and the table contains their
  // positions; near distances also have consecutive positions.
  auto addConsecutive = [&] {
    const int64_t reach = own.rule.getReach();
    const int64_t near =
        own.rule.maxDistance ? own.rule.getExact() : own.rule.getSpan() - 1;
    Index distance = own.distance + key;
    Bool isNear =
        logicalAnd(-near <= distance, distance <= near - (kLanes - 1));
    return e.choose(
        isNear,
        [&] {
          return addInOrder(t, item, own, key,
                            own.rule.getSpan() - distance - (kLanes - 1));
        },
        [&] {
          Index start = min(max(distance, -(reach + kLanes)), reach + 1);
          Value positions = e.loadVector(e.builder().getI32Type(),
                                         e.advance(own.table, start * 4));
          return addAtPositions(t, item, own, key, positions);
        });
  };
  if (!own.withoutGaps)
    return addConsecutive();
  // With gaps, look up each distance.
  return e.choose(*own.withoutGaps, addConsecutive, [&] {
    const auto reach = static_cast<int32_t>(own.rule.getReach());
    OpBuilder &b = e.builder();
    Value distances = keyDistances(item, own.query, key);
    distances =
        b.create<arith::MinSIOp>(e.location(), distances, e.splatI32(reach));
    distances =
        b.create<arith::MaxSIOp>(e.location(), distances, e.splatI32(-reach));
    Value positions = gatherAt(e, b.getI32Type(), own.table, distances,
                               e.logicalNot(e.laneMask(e.i64(0))));
    return addAtPositions(t, item, own, key, positions);
  });
}

/// Gathers products of 16 keys; each index counts from the start of the first
/// key's row.
Value AttentionEmitter::keyScores(const WorkItem &item, Index key,
                                  Value index) {
  Value scores = op.getPositionToContent();
  Index row = item.head * e.numRows(op.getQuery()) + (item.s.firstKeyRow + key);
  Value base = e.advance(e.pointer(scores), row * e.rowStride(scores) * 4);
  return gatherAt(e, e.f32Type(), base, index,
                  e.laneMask(item.s.numKeys - key));
}

/// lane * (row stride + `more`) in the keys' products, as i32.
static Value laneOffsets(PhaseEmitter &e, Value scores, int32_t more) {
  OpBuilder &b = e.builder();
  SmallVector<int32_t> lanes;
  for (int32_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value numbers =
      b.create<arith::ConstantOp>(e.location(), b.getI32VectorAttr(lanes));
  Value stride = e.splat(Value(b.create<arith::TruncIOp>(
      e.location(), b.getI32Type(), e.rowStride(scores) + int64_t(more))));
  return b.create<arith::MulIOp>(e.location(), numbers, stride);
}

/// Adds the products at 16 keys' positions.
Value AttentionEmitter::addAtPositions(Value t, const WorkItem &item,
                                       const PositionRow &own, Index key,
                                       Value positions) {
  Value scale = e.splat(op.getScale().convertToDouble() * kLog2E);
  if (own.row) {
    Value all = e.logicalNot(e.laneMask(e.i64(0)));
    t = e.fma(gatherAt(e, e.f32Type(), own.row, positions, all), scale, t);
  }
  Value scores = op.getPositionToContent();
  if (!scores)
    return t;
  Value index = e.builder().create<arith::AddIOp>(
      e.location(), laneOffsets(e, scores, 0), positions);
  return e.fma(keyScores(item, key, index), scale, t);
}

/// The same if positions decrease by one from key to key, down to `position`.
Value AttentionEmitter::addInOrder(Value t, const WorkItem &item,
                                   const PositionRow &own, Index key,
                                   Index position) {
  Value scale = e.splat(op.getScale().convertToDouble() * kLog2E);
  if (own.row) {
    Value rising = e.loadVector(e.f32Type(), e.advance(own.row, position * 4));
    t = e.fma(e.reverse(rising), scale, t);
  }
  Value scores = op.getPositionToContent();
  if (!scores)
    return t;
  OpBuilder &b = e.builder();
  Value first = e.splat(Value(b.create<arith::TruncIOp>(
      e.location(), b.getI32Type(), position + (kLanes - 1))));
  Value index =
      b.create<arith::AddIOp>(e.location(), laneOffsets(e, scores, -1), first);
  return e.fma(keyScores(item, key, index), scale, t);
}
