// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Movements: between rectangular and ragged rows, pooling, transposition,
// slices, gathers, positions and key panels.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/lower/Phase.h"
#include "runtime/abi/Abi.h"
#include <cstddef>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

static int64_t bytesOf(Value buffer) {
  return PhaseEmitter::typeOf(buffer).getElementBytes();
}
static Type memoryOf(PhaseEmitter &e, Value buffer) {
  Type element = PhaseEmitter::typeOf(buffer).getElementType();
  if (element.isBF16())
    return e.builder().getI16Type();
  return element.isInteger(1) ? Type(e.builder().getI8Type()) : element;
}
static Value field(PhaseEmitter &e, Value ragged, int64_t offset) {
  return e.loadI64(e.advance(e.ragged(ragged), offset));
}
static Value table(PhaseEmitter &e, Value ragged, int64_t offset) {
  return e.loadPtr(e.advance(e.ragged(ragged), offset));
}
/// Entry `index` of an i32 table of the ragged.
static Value entry32(PhaseEmitter &e, Value base, Value index) {
  return e.toI64(
      e.load(e.builder().getI32Type(), e.advance(base, e.mul(index, 4))));
}
static Value sequence(PhaseEmitter &e, Value ragged, Value index) {
  return e.advance(table(e, ragged, offsetof(transom_ragged_batch, sequences)),
                   e.mul(index, sizeof(transom_sequence)));
}

/// Elements of one row of a buffer whose rows are its `leading` dimensions, and
/// the distance of rows.
static Value innerSize(PhaseEmitter &e, Value buffer, int64_t leading) {
  Polynomial count(1);
  SmallVector<Polynomial> dims = PhaseEmitter::typeOf(buffer).getDims();
  for (const Polynomial &dim : ArrayRef(dims).drop_front(leading))
    count = count * dim;
  return e.size(count);
}

static void copyRow(PhaseEmitter &e, Type memory, Value source, Value target,
                    Value from, Value to) {
  int64_t bytes = memory.getIntOrFloatBitWidth() / 8;
  e.columns(e.sub(to, from), [&](Value column, Value mask) {
    Value at = e.mul(e.add(from, column), bytes);
    e.storeVector(e.loadVector(memory, e.advance(source, at), mask),
                  e.advance(target, at), mask);
  });
}

void lower::lowerGatherRows(PhaseEmitter &e, kern::GatherRowsOp op) {
  Value seg = op.getRagged();
  Value sequences =
      table(e, seg, offsetof(transom_ragged_batch, token_sequence));
  Value columnOf = table(e, seg, offsetof(transom_ragged_batch, token_column));
  Value columns = field(e, seg, offsetof(transom_ragged_batch, columns));
  Value inner = innerSize(e, op.getInput(), 2);
  int64_t bytes = bytesOf(op.getInput());
  e.shareRows(
      field(e, seg, offsetof(transom_ragged_batch, num_tokens)),
      [&](Value row) {
        Value index = e.add(e.mul(entry32(e, sequences, row), columns),
                            entry32(e, columnOf, row));
        Value source = e.advance(e.pointer(op.getInput()),
                                 e.mul(e.mul(index, inner), bytes));
        Value target =
            e.advance(e.pointer(op.getOuts()), e.mul(e.mul(row, inner), bytes));
        copyRow(e, memoryOf(e, op.getInput()), source, target, e.i64(0), inner);
      });
}

/// Parts take ranges of columns, so that one long sequence is shared out too.
void lower::lowerScatterRows(PhaseEmitter &e, kern::ScatterRowsOp op) {
  Value seg = op.getRagged();
  // Without rows the table has no entry; what is read instead is not used.
  Value any = e.less(e.i64(0),
                     field(e, seg, offsetof(transom_ragged_batch, num_tokens)));
  Value columnOf =
      e.select(any, table(e, seg, offsetof(transom_ragged_batch, token_column)),
               e.ragged(seg));
  Value columns = field(e, seg, offsetof(transom_ragged_batch, columns));
  Value inner = innerSize(e, op.getInput(), 1), inputStride = inner;
  if (PhaseEmitter::typeOf(op.getInput()).getRank() == 2)
    inputStride = e.rowStride(op.getInput());
  int64_t bytes = bytesOf(op.getInput());
  Type memory = memoryOf(e, op.getInput());
  auto [first, last] = e.share(e.ceilDiv(inner, kLanes));
  Value from = e.mul(first, kLanes), to = e.min(e.mul(last, kLanes), inner);
  Value zero = e.builder().create<arith::ConstantOp>(
      e.location(), e.builder().getZeroAttr(e.vectorOf(memory)));
  e.forLoop(
      e.i64(0), field(e, seg, offsetof(transom_ragged_batch, num_sequences)), 1,
      [&, from = from, to = to](Value b) {
        Value own = sequence(e, seg, b);
        Value firstRow =
            e.loadI64(e.advance(own, offsetof(transom_sequence, first_token)));
        Value end = e.add(
            firstRow,
            e.loadI64(e.advance(own, offsetof(transom_sequence, num_keys))));
        e.forLoop(
            e.i64(0), columns, 1, firstRow,
            [&](Value column, ValueRange carried) {
              Value row = carried[0];
              Value target = e.advance(
                  e.pointer(op.getOuts()),
                  e.mul(e.mul(e.add(e.mul(b, columns), column), inner), bytes));
              Value more = e.less(row, end);
              // Row 0 stands for a row that does not exist; its column is not
              // used.
              Value at = e.select(more, row, firstRow);
              Value lastRow =
                  e.max(e.sub(field(e, seg,
                                    offsetof(transom_ragged_batch, num_tokens)),
                              e.i64(1)),
                        e.i64(0));
              Value real =
                  e.both(more, e.equal(entry32(e, columnOf, e.min(at, lastRow)),
                                       column));
              e.ifThen(
                  real,
                  [&] {
                    Value source =
                        e.advance(e.pointer(op.getInput()),
                                  e.mul(e.mul(row, inputStride), bytes));
                    copyRow(e, memory, source, target, from, to);
                  },
                  [&] {
                    e.columns(e.sub(to, from), [&](Value c, Value mask) {
                      e.storeVector(
                          zero, e.advance(target, e.mul(e.add(from, c), bytes)),
                          mask);
                    });
                  });
              return SmallVector<Value>{
                  e.add(row, e.select(real, e.i64(1), e.i64(0)))};
            });
      });
}

/// True where row `row` counts: always without a mask.
static Value counts(PhaseEmitter &e, Value mask, Value row) {
  if (!mask)
    return e.equal(row, row);
  Value byte = e.load(e.builder().getI8Type(), e.advance(e.pointer(mask), row));
  Value zero = e.builder().create<arith::ConstantIntOp>(e.location(), 0, 8);
  return e.inverse(e.equal(byte, zero));
}

void lower::lowerPool(PhaseEmitter &e, kern::PoolOp op) {
  Value seg = op.getRagged(), mask = op.getMask();
  Value inner = innerSize(e, op.getOuts(), 1);
  Value stride = e.rowStride(op.getInput());
  e.shareRows(
      field(e, seg, offsetof(transom_ragged_batch, num_sequences)),
      [&](Value b) {
        Value own = sequence(e, seg, b);
        auto get = [&](int64_t offset) {
          return e.loadI64(e.advance(own, offset));
        };
        Value from = get(offsetof(transom_sequence, first_token));
        Value to = e.add(from, get(offsetof(transom_sequence, num_keys)));
        if (op.getKind() == "first") {
          from = get(offsetof(transom_sequence, column0_token));
          to = e.add(from, 1);
          from = e.max(from, e.i64(0)); // -1 where column 0 is no row: zeros
          mask = {};
        } else if (op.getKind() == "last") {
          Value last = e.forLoop(
              from, to, 1, e.i64(-1), [&](Value row, ValueRange carried) {
                return SmallVector<Value>{
                    e.select(counts(e, mask, row), row, carried[0])};
              })[0];
          Value none = e.less(last, e.i64(0));
          from = e.select(none, from, last);
          to = e.select(none, from, e.add(last, 1));
        }
        Value count = e.forLoop(
            from, to, 1, e.i64(0), [&](Value row, ValueRange carried) {
              return SmallVector<Value>{
                  e.add(carried[0],
                        e.select(counts(e, mask, row), e.i64(1), e.i64(0)))};
            })[0];
        Value divisor =
            e.splat(e.builder()
                        .create<arith::SIToFPOp>(e.location(), e.f32Type(),
                                                 e.max(count, e.i64(1)))
                        .getResult());
        int64_t bytes = bytesOf(op.getOuts());
        Value target =
            e.advance(e.pointer(op.getOuts()),
                      e.mul(e.mul(b, e.rowStride(op.getOuts())), bytes));
        e.columns(inner, [&](Value column, Value lanes) {
          Value sum = e.forLoop(
              from, to, 1, e.splat(0.0), [&](Value row, ValueRange carried) {
                Value at =
                    e.advance(e.pointer(op.getInput()),
                              e.mul(e.add(e.mul(row, stride), column), 4));
                Value more =
                    e.addF(carried[0], e.loadVector(e.f32Type(), at, lanes));
                return SmallVector<Value>{
                    e.select(counts(e, mask, row), more, carried[0])};
              })[0];
          Value mean = e.divF(sum, divisor),
                at = e.advance(target, e.mul(column, bytes));
          if (PhaseEmitter::typeOf(op.getOuts()).isBf16())
            e.storeBf16(mean, at, lanes);
          else
            e.storeVector(mean, at, lanes);
        });
      });
}

void lower::lowerPositions(PhaseEmitter &e, kern::PositionsOp op) {
  SmallVector<Polynomial> dims = PhaseEmitter::typeOf(op.getIds()).getDims();
  Value columns = e.size(dims.back()), pad = e.i64(op.getPad());
  e.shareRows(e.rowCount(op.getIds()), [&](Value b) {
    e.forLoop(e.i64(0), columns, 1, pad, [&](Value column, ValueRange carried) {
      Value offset = e.mul(e.add(e.mul(b, columns), column), 8);
      Value real = e.inverse(
          e.equal(e.loadI64(e.advance(e.pointer(op.getIds()), offset)), pad));
      Value rank = e.add(carried[0], e.select(real, e.i64(1), e.i64(0)));
      e.store(e.select(real, rank, pad),
              e.advance(e.pointer(op.getOuts()), offset));
      return SmallVector<Value>{rank};
    });
  });
}

void lower::lowerColumns(PhaseEmitter &e, kern::ColumnsOp op) {
  Value columnOf =
      table(e, op.getRagged(), offsetof(transom_ragged_batch, token_column));
  e.shareRows(
      field(e, op.getRagged(), offsetof(transom_ragged_batch, num_tokens)),
      [&](Value row) {
        e.store(entry32(e, columnOf, row),
                e.advance(e.pointer(op.getOuts()), e.mul(row, 8)));
      });
}

/// Stores 16 columns of a key, pairs side by side, into panels of bf16: a word
/// for each pair, 32 words from one to the next.
static void scatterPairs(PhaseEmitter &e, Value halves, Value to, Value mask) {
  OpBuilder &b = e.builder();
  constexpr int64_t pairs = kLanes / 2;
  SmallVector<int64_t> offsets, evenLanes;
  for (int64_t i = 0; i < pairs; ++i) {
    offsets.push_back(i * kern::kPanel * 4);
    evenLanes.push_back(2 * i);
  }
  Value words = b.create<vector::BitCastOp>(
      e.location(), VectorType::get({pairs}, b.getI32Type()), halves);
  Value lanes = mask ? mask : e.inverse(e.laneMask(e.i64(0)));
  Value distances =
      b.create<arith::ConstantOp>(e.location(), b.getI64VectorAttr(offsets));
  Value pointers = b.create<LLVM::GEPOp>(
      e.location(), LLVM::getFixedVectorType(e.ptrType(), pairs), b.getI8Type(),
      to, ArrayRef<LLVM::GEPArg>{distances});
  b.create<LLVM::masked_scatter>(
      e.location(), words, pointers,
      b.create<vector::ShuffleOp>(e.location(), lanes, lanes, evenLanes), 4);
}

/// Packs one row of keys into panels of bf16 at its position.
static void packKeyBf16(PhaseEmitter &e, kern::PackKeysOp op, Value row,
                        Value position) {
  kern::BufferType type = PhaseEmitter::typeOf(op.getInput());
  Value columns = e.size(type.getDims().back());
  Value line = e.advance(
      e.pointer(op.getInput()),
      e.mul(e.mul(row, e.rowStride(op.getInput())), bytesOf(op.getInput())));
  Value panel = e.div(position, e.i64(kern::kPanel)),
        lane = e.rem(position, e.i64(kern::kPanel));
  Value base = e.advance(
      e.pointer(op.getOuts()),
      e.add(e.mul(e.mul(panel, columns), kern::kPanel * 2), e.mul(lane, 4)));
  e.columns(columns, [&](Value column, Value mask) {
    Value at = e.advance(line, e.mul(column, bytesOf(op.getInput())));
    Value halves = type.isBf16()
                       ? e.loadVector(e.builder().getI16Type(), at, mask)
                       : e.roundBf16(e.loadVector(e.f32Type(), at, mask));
    scatterPairs(e, halves, e.advance(base, e.mul(column, kern::kPanel * 2)),
                 mask);
  });
}

void lower::lowerPackKeys(PhaseEmitter &e, kern::PackKeysOp op) {
  Value columns = e.size(PhaseEmitter::typeOf(op.getInput()).getDims().back());
  Value stride = e.rowStride(op.getInput());
  Value positions =
      table(e, op.getRagged(), offsetof(transom_ragged_batch, token_key));
  e.shareRows(
      field(e, op.getRagged(), offsetof(transom_ragged_batch, num_tokens)),
      [&](Value row) {
        Value position = e.loadI64(e.advance(positions, e.mul(row, 8)));
        if (PhaseEmitter::typeOf(op.getOuts()).isBf16())
          return packKeyBf16(e, op, row, position);
        Value panel = e.div(position, e.i64(kern::kPanel)),
              lane = e.rem(position, e.i64(kern::kPanel));
        Value base = e.add(e.mul(e.mul(panel, columns), kern::kPanel), lane);
        Value line =
            e.advance(e.pointer(op.getInput()), e.mul(e.mul(row, stride), 4));
        e.columns(columns, [&](Value column, Value mask) {
          Value x = e.loadVector(e.f32Type(), e.advance(line, e.mul(column, 4)),
                                 mask);
          Value to = e.add(base, e.mul(column, kern::kPanel));
          e.scatter(x, e.advance(e.pointer(op.getOuts()), e.mul(to, 4)),
                    e.i64(kern::kPanel * 4), mask);
        });
      });
}

static SmallVector<Value> sizesOf(PhaseEmitter &e, ArrayRef<Polynomial> dims) {
  SmallVector<Value> sizes;
  for (const Polynomial &dim : dims)
    sizes.push_back(e.size(dim));
  return sizes;
}

void lower::lowerTranspose(PhaseEmitter &e, kern::TransposeOp op) {
  auto out = PhaseEmitter::typeOf(op.getOuts());
  SmallVector<Value> strides =
                         emitStrides(e, PhaseEmitter::typeOf(op.getInput())),
                     permuted;
  for (int64_t dim : op.getPermutation())
    permuted.push_back(strides[dim]);
  emitStridedCopy(e, {sizesOf(e, out.getDims()), permuted, emitStrides(e, out),
                      e.pointer(op.getInput()), e.pointer(op.getOuts()),
                      out.getElementType()});
}

void lower::lowerCopy(PhaseEmitter &e, kern::CopyOp op) {
  auto in = PhaseEmitter::typeOf(op.getInput()),
       out = PhaseEmitter::typeOf(op.getOuts());
  auto number = [&](StringRef text) {
    return e.size(*Polynomial::parse(text));
  };
  int64_t axis = op.getAxis();
  SmallVector<Value> sizes = sizesOf(e, out.getDims());
  sizes[axis] = number(op.getSize());
  SmallVector<Value> from = emitStrides(e, in), to = emitStrides(e, out);
  Value source = e.advance(
      e.pointer(op.getInput()),
      e.mul(e.mul(number(op.getFrom()), from[axis]), in.getElementBytes()));
  Value target = e.advance(
      e.pointer(op.getOuts()),
      e.mul(e.mul(number(op.getTo()), to[axis]), out.getElementBytes()));
  emitStridedCopy(e, {sizes, from, to, source, target, out.getElementType()});
}

void lower::lowerGather(PhaseEmitter &e, kern::GatherOp op) {
  Value inner = innerSize(e, op.getTable(), 1);
  bool rows = PhaseEmitter::typeOf(op.getTable()).getRank() == 2;
  auto strideOf = [&](Value buffer) {
    return rows && PhaseEmitter::typeOf(buffer).getRank() == 2
               ? e.rowStride(buffer)
               : inner;
  };
  Value from = strideOf(op.getTable()), to = strideOf(op.getOuts());
  int64_t bytes = bytesOf(op.getTable());
  Value count = innerSize(e, op.getIndices(), 0);
  Type memory = memoryOf(e, op.getTable());
  e.shareRows(count, [&](Value i) {
    Value index = e.loadI64(e.advance(e.pointer(op.getIndices()), e.mul(i, 8)));
    Value source =
        e.advance(e.pointer(op.getTable()), e.mul(e.mul(index, from), bytes));
    Value target =
        e.advance(e.pointer(op.getOuts()), e.mul(e.mul(i, to), bytes));
    copyRow(e, memory, source, target, e.i64(0), inner);
  });
}
