// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, positions of a ragged batch: by the columns of the tokens, which
// rise from key to key and may have gaps. Windows become ranges of keys, biases
// read the distance of two columns. A hidden column 0 that is kept is the last
// row of its sequence and no key.
#include "passes/lower/attention/AttentionPhase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

/// The entry of a row in the table of columns.
Value AttentionPhase::columnAddress(Value row) {
  Value table =
      e.loadPtr(e.advance(e.ragged(op.getQueryRagged()),
                          offsetof(transom_ragged_batch, token_column)));
  return e.advance(table, e.mul(row, 4));
}

Value AttentionPhase::columnOf(Value row) {
  return e.toI64(e.load(e.builder().getI32Type(), columnAddress(row)));
}

/// The index of the first key of the sequence whose column is not below
/// `column`. Without gaps it follows from the first column; else it is at most
/// the number of gaps before that, and found by bisection.
Value AttentionPhase::firstKeyFrom(const Sequence &s, Value column) {
  Value zero = e.i64(0), last = e.max(e.sub(s.keys, e.i64(1)), zero);
  Value firstColumn = columnOf(s.firstRow),
        lastColumn = columnOf(e.add(s.firstRow, last));
  Value gaps = e.sub(e.sub(lastColumn, firstColumn), last);
  Value highest = e.sub(column, firstColumn);
  Value high = e.min(e.max(highest, zero), s.keys);
  Value low = e.min(e.max(e.sub(highest, gaps), zero), s.keys);
  // 31 halvings of a range of rows.
  Value halvings = e.select(e.less(low, high), e.i64(31), zero);
  return e.forLoop(
      zero, halvings, 1, {low, high}, [&](Value, ValueRange range) {
        Value middle = e.div(e.add(range[0], range[1]), e.i64(2));
        Value row = e.add(s.firstRow, e.min(middle, last));
        Value open = e.less(range[0], range[1]);
        Value before = e.both(open, e.less(columnOf(row), column));
        return SmallVector<Value>{e.select(before, e.add(middle, 1), range[0]),
                                  e.select(before, range[1], middle)};
      })[0];
}

/// The range of keys of the sequence that a line may see.
std::pair<Value, Value> AttentionPhase::visibleByColumn(const Sequence &s,
                                                        Value line) {
  Value own = columnOf(e.add(s.firstRow, line));
  Value from = e.i64(0), to = s.keys;
  if (op.getCausal())
    to = firstKeyFrom(s, e.add(own, 1));
  if (op.getWindow()) {
    from = firstKeyFrom(s, e.sub(own, e.i64(op.getWindow() - 1)));
    if (!op.getCausal())
      to = firstKeyFrom(s, e.add(own, op.getWindow()));
  }
  return {from, to};
}

/// The ranges that all lines, and that some line of [first, end) sees. Ranges
/// rise from line to line but for the line of a kept column 0, the last.
AttentionPhase::LineRanges AttentionPhase::lineRanges(const Sequence &s,
                                                      Value first, Value end) {
  Value last = e.sub(end, e.i64(1));
  auto head = visible(s, first), tail = visible(s, last);
  Value inOrder = e.max(e.min(last, e.sub(s.keys, e.i64(1))), first);
  auto middle = visible(s, inOrder);
  return {e.max(middle.first, tail.first), e.min(head.second, tail.second),
          e.min(head.first, tail.first), e.max(middle.second, tail.second)};
}

/// The distances from the query of a line to 16 keys, as i32.
Value AttentionPhase::distances(const Unit &u, Value row, Value key) {
  OpBuilder &b = e.builder();
  Value line = e.add(u.first, row);
  auto toI32 = [&](Value integer) {
    Value narrow =
        b.create<arith::TruncIOp>(e.location(), b.getI32Type(), integer);
    return e.splat(narrow);
  };
  if (op.getByColumn()) {
    Value seen = e.laneMask(e.sub(u.s.keys, key));
    Value columns = e.loadVector(b.getI32Type(),
                                 columnAddress(e.add(u.s.firstRow, key)), seen);
    Value own = columnOf(e.add(u.s.firstRow, line));
    return b.create<arith::SubIOp>(e.location(), columns, toI32(own));
  }
  SmallVector<int32_t> lanes;
  for (int32_t i = 0; i < kLanes; ++i)
    lanes.push_back(i);
  Value numbers =
      b.create<arith::ConstantOp>(e.location(), b.getI32VectorAttr(lanes));
  return b.create<arith::AddIOp>(e.location(), numbers,
                                 toI32(e.sub(key, position(u.s, line))));
}

/// The relative bias of the row's head at the distances to 16 keys.
Value AttentionPhase::addRelativeBias(Value t, const Unit &u, Value row,
                                      Value key) {
  if (!op.getRelativeBias())
    return t;
  OpBuilder &b = e.builder();
  auto type = cast<kern::WeightType>(op.getRelativeBias().getType());
  int64_t width = type.getShape()[1];
  auto reach = static_cast<int32_t>(width / 2);
  Value near = b.create<arith::MinSIOp>(e.location(), distances(u, row, key),
                                        e.splatI32(reach));
  Value index = b.create<arith::AddIOp>(
      e.location(),
      b.create<arith::MaxSIOp>(e.location(), near, e.splatI32(-reach)),
      e.splatI32(reach));
  Value table = e.advance(e.weight(op.getRelativeBias()),
                          e.mul(queryHead(u, row), width * 4));
  Value pointers = b.create<LLVM::GEPOp>(
      e.location(), LLVM::getFixedVectorType(e.ptrType(), kLanes), e.f32Type(),
      table, ArrayRef<LLVM::GEPArg>{index});
  Value bias = b.create<LLVM::masked_gather>(
      e.location(), e.f32Vector(), pointers, e.inverse(e.laneMask(e.i64(0))),
      ValueRange{e.splat(0.0)}, 4);
  return e.fma(bias, e.splat(kLog2E), t);
}
