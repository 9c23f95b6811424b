// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Positions of a ragged batch by the columns of its tokens, which rise from key
// to key and may have gaps. Windows become ranges of keys; biases read the
// distance of two columns. A hidden column 0 that is kept is the last row of
// its sequence and no key.
#include "passes/lower/attention/AttentionEmitter.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The entry of a row in the table of columns.
Value AttentionEmitter::columnAddress(Index row) {
  Value table = e.raggedTable(op.getQueryRagged(),
                              offsetof(transom_ragged_batch, token_column));
  return e.advance(table, row * 4);
}

Index AttentionEmitter::loadColumn(Index row) {
  return e.extendI32(e.load(e.builder().getI32Type(), columnAddress(row)));
}

/// The index of the first key of the sequence whose column is at least
/// `column`. Without gaps it follows from the first column. Else it is smaller
/// by at most the number of gaps, and found by bisection.
Index AttentionEmitter::firstKeyFrom(const Sequence &s, Index column) {
  Index zero = e.i64(0), last = max(s.numKeys - 1, zero);
  Index firstColumn = loadColumn(s.firstRow),
        lastColumn = loadColumn(s.firstRow + last);
  Index gaps = lastColumn - firstColumn - last;
  Index highest = column - firstColumn;
  Index high = min(max(highest, zero), s.numKeys);
  Index low = min(max(highest - gaps, zero), s.numKeys);
  // 31 halvings of a range of rows.
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

/// The range of keys of the sequence that a query sees.
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

/// The ranges that all queries, and that some query of [first, end) sees.
/// Ranges rise from query to query except for a kept column 0, the last.
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
  // By column: the columns of 16 keys minus that of the query.
  if (op.getByColumn()) {
    Value seen = e.laneMask(item.s.numKeys - key);
    Value columns = e.loadVector(b.getI32Type(),
                                 columnAddress(item.s.firstRow + key), seen);
    Index own = loadColumn(item.s.firstRow + line);
    return b.create<arith::SubIOp>(e.location(), columns, splatI32(own));
  }
  // By position: consecutive numbers.
  SmallVector<int32_t> lanes;
  for (int32_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value numbers =
      b.create<arith::ConstantOp>(e.location(), b.getI32VectorAttr(lanes));
  return b.create<arith::AddIOp>(e.location(), numbers,
                                 splatI32(key - queryPosition(item.s, line)));
}

/// Gathers elements of a table by 16 indices of i32; lanes that `mask` disables
/// are not accessed.
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

/// Adds the relative bias of the query's head at the distances to 16 keys.
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

/// Adds the products of the query and of 16 keys with the relative positions
/// of their distances.
Value AttentionEmitter::addPositionScores(Value t, const WorkItem &item,
                                          Index query, Index key) {
  std::optional<PositionBuckets> rule = op.getPositionBuckets();
  if (!rule)
    return t;

  // The positions of the distances, by key - query.
  const int64_t reach = rule->getReach();
  SmallVector<int32_t> entries;
  for (int64_t distance = -reach; distance <= reach; ++distance)
    entries.push_back(static_cast<int32_t>(rule->getRow(-distance)));
  Value table =
      e.constantTable("transom.positions." + std::to_string(rule->positions) +
                          "." + std::to_string(rule->maxDistance),
                      entries);
  OpBuilder &b = e.builder();
  Value all = e.logicalNot(e.laneMask(e.i64(0)));
  Value positions = gatherAt(e, b.getI32Type(), table,
                             distanceIndices(item, query, key, reach), all);

  // Elements of the query's row, and one of the row of each key.
  Value scale = e.splat(op.getScale().convertToDouble() * kLog2E);
  Index column = item.head * rule->positions;
  auto rowAt = [&](Value scores, Index row) {
    return e.advance(e.pointer(scores),
                     (row * e.rowStride(scores) + column) * 4);
  };
  if (Value scores = op.getContentToPosition()) {
    Value row = rowAt(scores, item.s.firstRow + item.firstQuery + query);
    t = e.fma(gatherAt(e, e.f32Type(), row, positions, all), scale, t);
  }
  if (Value scores = op.getPositionToContent()) {
    SmallVector<int32_t> lanes;
    for (int32_t i = 0; i < kLanes; ++i)
      lanes.push_back(i);
    Value numbers =
        b.create<arith::ConstantOp>(e.location(), b.getI32VectorAttr(lanes));
    Value stride = e.splat(Value(b.create<arith::TruncIOp>(
        e.location(), b.getI32Type(), e.rowStride(scores))));
    Value index = b.create<arith::AddIOp>(
        e.location(), b.create<arith::MulIOp>(e.location(), numbers, stride),
        positions);
    Value row = rowAt(scores, item.s.firstKeyRow + key);
    Value isKey = e.laneMask(item.s.numKeys - key);
    t = e.fma(gatherAt(e, e.f32Type(), row, index, isKey), scale, t);
  }
  return t;
}
