// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data movement: between rectangular and ragged rows, positions, transposes,
// slices, gathers. Rows are copied by vectors with the memory type.
#include "passes/lower/ops/LowerOps.h"
#include "passes/lower/ops/StridedCopy.h"
#include "runtime/abi/Abi.h"
#include <cstddef>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace transom;
using namespace transom::lower;

static int64_t getElementBytes(Value buffer) {
  return getBufferType(buffer).getElementBytes();
}

/// The element type in memory: a bool is a byte; bf16 is moved as bits.
static Type getMemoryType(PhaseEmitter &e, Value buffer) {
  Type element = getBufferType(buffer).getElementType();
  if (element.isBF16())
    return e.builder().getI16Type();
  return element.isInteger(1) ? Type(e.builder().getI8Type()) : element;
}

/// Number of elements in a buffer's dimensions from `first` on.
static Index emitInnerSize(PhaseEmitter &e, Value buffer, int64_t first) {
  Polynomial count(1);
  SmallVector<Polynomial> dims = getBufferType(buffer).getDims();
  for (const Polynomial &dim : ArrayRef(dims).drop_front(first))
    count = count * dim;
  return e.size(count);
}

/// Address of a sequence's entry in a ragged batch.
static Value getSequence(PhaseEmitter &e, Value ragged, Index index) {
  return e.advance(
      e.raggedTable(ragged, offsetof(transom_ragged_batch, sequences)),
      index * sizeof(transom_sequence));
}

static Index numTokens(PhaseEmitter &e, Value ragged) {
  return e.raggedField(ragged, offsetof(transom_ragged_batch, num_tokens));
}

/// Copies elements `from` to `to` in a row.
static void copyRow(PhaseEmitter &e, Type memory, Value source, Value target,
                    Index from, Index to) {
  int64_t bytes = memory.getIntOrFloatBitWidth() / 8;
  e.forColumns(to - from, [&](Index column, Value mask) {
    Index at = (from + column) * bytes;
    e.storeVector(e.loadVector(memory, e.advance(source, at), mask),
                  e.advance(target, at), mask);
  });
}

//===----------------------------------------------------------------------===//
// Between rectangular and ragged rows
//===----------------------------------------------------------------------===//

/// Copies each token's row from [batch, columns, ...].
static void lowerGatherRows(PhaseEmitter &e, kern::GatherRowsOp op) {
  Value ragged = op.getRagged();
  Value sequenceOf =
      e.raggedTable(ragged, offsetof(transom_ragged_batch, token_sequence));
  Value columnOf =
      e.raggedTable(ragged, offsetof(transom_ragged_batch, token_column));
  Index columns =
      e.raggedField(ragged, offsetof(transom_ragged_batch, columns));
  Index inner = emitInnerSize(e, op.getInput(), 2);
  int64_t bytes = getElementBytes(op.getInput());
  e.forWorkerRange(numTokens(e, ragged), [&](Index token) {
    Index index =
        e.loadI32(sequenceOf, token) * columns + e.loadI32(columnOf, token);
    Value source = e.advance(e.pointer(op.getInput()), index * inner * bytes);
    Value target = e.advance(e.pointer(op.getOuts()), token * inner * bytes);
    copyRow(e, getMemoryType(e, op.getInput()), source, target, e.i64(0),
            inner);
  });
}

namespace {
/// Scatters token rows to [batch, columns, ...], zeros elsewhere. Each worker
/// writes a range of elements in all rows, so that one long sequence is also
/// divided.
class ScatterEmitter {
public:
  ScatterEmitter(PhaseEmitter &e, kern::ScatterRowsOp op)
      : e(e), op(op), ragged(op.getRagged()),
        bytes(getElementBytes(op.getInput())),
        memory(getMemoryType(e, op.getInput())) {
    // Without tokens the table is empty. The value that is read instead is
    // unused.
    Bool any = 0 < numTokens(e, ragged);
    columnOf = e.select(
        any,
        e.raggedTable(ragged, offsetof(transom_ragged_batch, token_column)),
        e.ragged(ragged));
    columns = e.raggedField(ragged, offsetof(transom_ragged_batch, columns));
    inner = emitInnerSize(e, op.getInput(), 1);
    inputStride = inner;
    if (getBufferType(op.getInput()).getRank() == 2)
      inputStride = e.rowStride(op.getInput());
    // This worker's elements: whole vectors.
    IndexPair vectors = e.workerRange(ceilDiv(inner, kLanes));
    from = vectors.first * kLanes;
    to = min(vectors.second * kLanes, inner);
    zero = e.builder().create<arith::ConstantOp>(
        e.location(), e.builder().getZeroAttr(e.getVectorType(memory)));
  }

  void emit() {
    Index batch =
        e.raggedField(ragged, offsetof(transom_ragged_batch, num_sequences));
    e.forRange(batch, [&](Index b) {
      Value sequence = getSequence(e, ragged, b);
      Index first = e.loadI64(
          e.advance(sequence, offsetof(transom_sequence, first_token)));
      Index end =
          first +
          e.loadI64(e.advance(sequence, offsetof(transom_sequence, num_keys)));
      // Carried value: the next token in the sequence.
      e.foldRange(e.i64(0), columns, first, [&](Index column, Index token) {
        return emitColumn(b, column, token, {first, end});
      });
    });
  }

private:
  /// Writes one column in a sequence with tokens `range`: the next token's row
  /// if it has this column, otherwise zeros. Returns the next token.
  Index emitColumn(Index b, Index column, Index token, IndexPair range) {
    Value target = e.advance(e.pointer(op.getOuts()),
                             (b * columns + column) * inner * bytes);
    // After the last token, the first one is read instead; its value is unused.
    Bool more = token < range.second;
    Index readable = select(more, token, range.first);
    Index last = max(numTokens(e, ragged) - 1, 0);
    Bool isToken =
        logicalAnd(more, e.loadI32(columnOf, min(readable, last)) == column);
    e.ifThen(
        isToken,
        [&] {
          Value source =
              e.advance(e.pointer(op.getInput()), token * inputStride * bytes);
          copyRow(e, memory, source, target, from, to);
        },
        [&] {
          e.forColumns(to - from, [&](Index c, Value mask) {
            e.storeVector(zero, e.advance(target, (from + c) * bytes), mask);
          });
        });
    return token + select(isToken, 1, 0);
  }

  PhaseEmitter &e;
  kern::ScatterRowsOp op;
  Value ragged;
  int64_t bytes;
  Type memory;
  Value columnOf;
  Index columns, inner, inputStride;
  Index from, to; ///< this worker's elements in a row
  Value zero;
};
} // namespace

static void lowerScatterRows(PhaseEmitter &e, kern::ScatterRowsOp op) {
  ScatterEmitter(e, op).emit();
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// Whether a token counts in pooling: always without a mask.
static Bool isPooled(PhaseEmitter &e, Value mask, Index token) {
  if (!mask)
    return token == token;
  Value byte =
      e.load(e.builder().getI8Type(), e.advance(e.pointer(mask), token));
  Value zero = e.builder().create<arith::ConstantIntOp>(e.location(), 0, 8);
  return {e, e.logicalNot(e.cmpEq(byte, zero))};
}

/// The pooled tokens in a sequence. Kinds that select one row return one token
/// or none, and clear `mask` or have applied it.
static IndexPair getPooledTokens(PhaseEmitter &e, kern::PoolOp op,
                                 Value sequence, Value &mask) {
  // All keys in the sequence.
  auto load = [&](int64_t offset) {
    return e.loadI64(e.advance(sequence, offset));
  };
  Index from = load(offsetof(transom_sequence, first_token));
  Index to = from + load(offsetof(transom_sequence, num_keys));
  if (op.getKind() == kern::PoolKind::First) {
    mask = {};
    from = load(offsetof(transom_sequence, column0_token));
    to = from + 1;
    // The row is -1, and the range empty, if column 0 is not a token.
    return {max(from, 0), to};
  }
  if (op.getKind() == kern::PoolKind::Last ||
      op.getKind() == kern::PoolKind::FirstKey) {
    // Select the last counted key, or the first one.
    bool isLast = op.getKind() == kern::PoolKind::Last;
    Index found =
        e.foldRange(from, to, e.i64(-1), [&](Index token, Index carried) {
          Bool takes = isPooled(e, mask, token);
          if (!isLast)
            takes = logicalAnd(takes, carried < 0);
          return select(takes, token, carried);
        });
    Bool none = found < 0;
    from = select(none, from, found);
    return {from, select(none, from, found + 1)};
  }
  return {from, to};
}

namespace {
/// Pools the rows in each sequence.
class PoolEmitter {
public:
  PoolEmitter(PhaseEmitter &e, kern::PoolOp op)
      : e(e), op(op), kind(op.getKind()), mask(op.getMask()),
        stride(e.rowStride(op.getInput())) {
    if (kind == kern::PoolKind::WeightedMean)
      columnOf = e.raggedTable(op.getRagged(),
                               offsetof(transom_ragged_batch, token_column));
  }

  /// Pools one sequence.
  void emit(Index b) {
    Value sequence = getSequence(e, op.getRagged(), b);
    std::tie(from, to) = getPooledTokens(e, op, sequence, mask);
    // The divisor for the sum; for `max`, the row count.
    Index count = e.foldRange(from, to, e.i64(0), [&](Index token, Index sum) {
      Index weight = columnOf ? getWeight(token) : e.i64(1);
      return sum + select(isPooled(e, mask, token), weight, 0);
    });
    Value divisor = e.splat(e.toF32(max(count, 1)));
    if (kind == kern::PoolKind::MeanSqrt)
      divisor = e.sqrtF(divisor);
    // Pool by 16 columns.
    int64_t bytes = getElementBytes(op.getOuts());
    Value target = e.advance(e.pointer(op.getOuts()),
                             b * e.rowStride(op.getOuts()) * bytes);
    e.forColumns(
        emitInnerSize(e, op.getOuts(), 1), [&](Index column, Value lanes) {
          Value pooled = fold(column, lanes);
          if (kind == kern::PoolKind::Max)
            pooled = e.select(0 < count, pooled, e.splat(0.0));
          else if (kind != kern::PoolKind::Sum)
            pooled = e.divF(pooled, divisor);
          getLowering(op.getOuts())
              .store(e, pooled, e.advance(target, column * bytes), lanes);
        });
  }

private:
  Index getWeight(Index token) { return e.loadI32(columnOf, token) + 1; }

  /// The sum or maximum over the rows, for 16 columns.
  Value fold(Index column, Value lanes) {
    bool isMax = kind == kern::PoolKind::Max;
    Value start =
        e.splat(isMax ? -std::numeric_limits<double>::infinity() : 0.0);
    return e.foldLoop(from, to, 1, start, [&](Index token, Value carried) {
      Value at =
          e.advance(e.pointer(op.getInput()), (token * stride + column) * 4);
      Value row = e.loadVector(e.f32Type(), at, lanes);
      if (columnOf)
        row = e.mulF(row, e.splat(e.toF32(getWeight(token))));
      Value next = isMax ? Value(e.builder().create<arith::MaximumFOp>(
                               e.location(), carried, row))
                         : e.addF(carried, row);
      return e.select(isPooled(e, mask, token), next, carried);
    });
  }

  PhaseEmitter &e;
  kern::PoolOp op;
  kern::PoolKind kind;
  Value mask, columnOf;
  Index stride, from, to;
};
} // namespace

static void lowerPool(PhaseEmitter &e, kern::PoolOp op) {
  Value ragged = op.getRagged();
  Index batch =
      e.raggedField(ragged, offsetof(transom_ragged_batch, num_sequences));
  e.forWorkerRange(batch, [&](Index b) { PoolEmitter(e, op).emit(b); });
}

//===----------------------------------------------------------------------===//
// Neighbors
//===----------------------------------------------------------------------===//

/// The row with the key that is `distance` columns after a token, or -1.
/// Columns increase from key to key, so it is at most `reach` rows away. A
/// column 0 that is not a key comes after all keys; its search starts at the
/// first key.
static Index findNeighbor(PhaseEmitter &e, kern::NeighborsOp op, Index token,
                          Index distance) {
  Value ragged = op.getRagged();
  Value columnOf =
      e.raggedTable(ragged, offsetof(transom_ragged_batch, token_column));
  Value sequenceOf =
      e.raggedTable(ragged, offsetof(transom_ragged_batch, token_sequence));
  Value sequence = getSequence(e, ragged, e.loadI32(sequenceOf, token));
  Index first =
      e.loadI64(e.advance(sequence, offsetof(transom_sequence, first_token)));
  Index end =
      first +
      e.loadI64(e.advance(sequence, offsetof(transom_sequence, num_keys)));
  Index column = e.loadI32(columnOf, token) + distance;
  Index base = select(token < end, token, first);
  Index from = max(base - int64_t(op.getReach()), first);
  Index to = min(base + int64_t(op.getReach() + 1), end);
  return e.foldRange(from, to, e.i64(-1), [&](Index other, Index found) {
    Bool isIt = logicalAnd(e.loadI32(columnOf, other) == column,
                           isPooled(e, op.getMask(), other));
    return select(isIt, other, found);
  });
}

static void lowerNeighbors(PhaseEmitter &e, kern::NeighborsOp op) {
  Index width = e.numColumns(op.getInput());
  Index inputStride = e.rowStride(op.getInput()),
        outStride = e.rowStride(op.getOuts());
  const int64_t reach = op.getReach();
  e.forWorkerRange(numTokens(e, op.getRagged()), [&](Index token) {
    e.forRange(2 * reach + 1, [&](Index slot) {
      Index row = findNeighbor(e, op, token, slot - reach);
      Value source = e.advance(e.pointer(op.getInput()), row * inputStride * 4);
      Value target = e.advance(e.pointer(op.getOuts()),
                               (token * outStride + slot * width) * 4);
      e.ifThen(
          0 <= row,
          [&] { copyRow(e, e.f32Type(), source, target, e.i64(0), width); },
          [&] {
            e.forColumns(width, [&](Index column, Value mask) {
              e.storeVector(e.splat(0.0), e.advance(target, column * 4), mask);
            });
          });
    });
  });
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Numbers the ids in each row that are not padding, from `pad` + 1 on.
static void lowerPositions(PhaseEmitter &e, kern::PositionsOp op) {
  Index columns = e.numColumns(op.getIds()), pad = e.i64(op.getPad());
  e.forWorkerRange(e.numRows(op.getIds()), [&](Index b) {
    e.foldRange(e.i64(0), columns, pad, [&](Index column, Index last) {
      Index offset = (b * columns + column) * 8;
      Bool isToken = logicalNot(
          e.loadI64(e.advance(e.pointer(op.getIds()), offset)) == pad);
      Index position = last + select(isToken, 1, 0);
      e.store(select(isToken, position, pad),
              e.advance(e.pointer(op.getOuts()), offset));
      return position;
    });
  });
}

/// Stores each token's column in the caller's batch.
static void lowerColumns(PhaseEmitter &e, kern::ColumnsOp op) {
  Value columnOf = e.raggedTable(op.getRagged(),
                                 offsetof(transom_ragged_batch, token_column));
  e.forWorkerRange(numTokens(e, op.getRagged()), [&](Index token) {
    e.store(e.loadI32(columnOf, token),
            e.advance(e.pointer(op.getOuts()), token * 8));
  });
}

//===----------------------------------------------------------------------===//
// Transposes, slices, gathers
//===----------------------------------------------------------------------===//

static void lowerTranspose(PhaseEmitter &e, kern::TransposeOp op) {
  kern::BufferType out = getBufferType(op.getOuts());
  SmallVector<Index> strides = emitStrides(e, getBufferType(op.getInput())),
                     permuted;
  for (int64_t dim : op.getPermutation())
    permuted.push_back(strides[dim]);
  emitStridedCopy(e, op,
                  {emitSizes(e, out.getDims()), permuted, emitStrides(e, out),
                   e.pointer(op.getInput()), e.pointer(op.getOuts()),
                   out.getElementType()});
}

static void lowerCopy(PhaseEmitter &e, kern::CopyOp op) {
  kern::BufferType in = getBufferType(op.getInput()),
                   out = getBufferType(op.getOuts());
  auto emitSize = [&](StringRef text) {
    return e.size(*Polynomial::parse(text));
  };
  int64_t axis = op.getAxis();
  SmallVector<Index> sizes = emitSizes(e, out.getDims());
  sizes[axis] = emitSize(op.getSize());
  SmallVector<Index> from = emitStrides(e, in), to = emitStrides(e, out);
  Value source =
      e.advance(e.pointer(op.getInput()),
                emitSize(op.getFrom()) * from[axis] * in.getElementBytes());
  Value target =
      e.advance(e.pointer(op.getOuts()),
                emitSize(op.getTo()) * to[axis] * out.getElementBytes());
  emitStridedCopy(e, op,
                  {sizes, from, to, source, target, out.getElementType()});
}

static void lowerGather(PhaseEmitter &e, kern::GatherOp op) {
  // A matrix may have a row stride; buffers with other ranks are dense.
  Index inner = emitInnerSize(e, op.getTable(), 1);
  bool isMatrix = getBufferType(op.getTable()).getRank() == 2;
  auto getStride = [&](Value buffer) {
    return isMatrix && getBufferType(buffer).getRank() == 2
               ? e.rowStride(buffer)
               : inner;
  };
  Index from = getStride(op.getTable()), to = getStride(op.getOuts());
  int64_t bytes = getElementBytes(op.getTable());
  Index count = emitInnerSize(e, op.getIndices(), 0);
  Type memory = getMemoryType(e, op.getTable());
  e.forWorkerRange(count, [&](Index i) {
    Index index = e.loadI64(e.advance(e.pointer(op.getIndices()), i * 8));
    Value source = e.advance(e.pointer(op.getTable()), index * from * bytes);
    Value target = e.advance(e.pointer(op.getOuts()), i * to * bytes);
    copyRow(e, memory, source, target, e.i64(0), inner);
  });
}

void lower::addMoveLowerings(Lowerings &lowerings) {
  lowerings.add<kern::GatherRowsOp, lowerGatherRows>();
  lowerings.add<kern::ScatterRowsOp, lowerScatterRows>();
  lowerings.add<kern::NeighborsOp, lowerNeighbors>();
  lowerings.add<kern::PoolOp, lowerPool>();
  lowerings.add<kern::PositionsOp, lowerPositions>();
  lowerings.add<kern::ColumnsOp, lowerColumns>();
  lowerings.add<kern::TransposeOp, lowerTranspose>();
  lowerings.add<kern::CopyOp, lowerCopy>();
  lowerings.add<kern::GatherOp, lowerGather>();
}
