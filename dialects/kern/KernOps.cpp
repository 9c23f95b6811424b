// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each operation of the kern dialect reads and writes, in which row space
// its parts own their rows, and how many floating-point operations it takes.
#include "dialects/kern/Kern.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

#include "dialects/kern/KernInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/kern/KernOps.cpp.inc"

Value kern::getStorage(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  return buffer;
}

static BufferType bufferOf(Value value) {
  return llvm::cast<BufferType>(value.getType());
}

/// The buffers among these values.
static SmallVector<Value> buffersAmong(ValueRange values) {
  SmallVector<Value> buffers;
  for (Value value : values)
    if (value && llvm::isa<BufferType>(value.getType()))
      buffers.push_back(value);
  return buffers;
}

static Polynomial elementCount(Value buffer) {
  BufferType type = bufferOf(buffer);
  Polynomial count(1);
  for (const Polynomial &dim : type.getDims())
    count = count * dim;
  return count;
}

static std::optional<Polynomial> rowsOf(Value buffer) {
  return bufferOf(buffer).getRowCount();
}

/// Defines the interface of an operation that reads `READS`, writes `outs`,
/// owns the rows `ROWS` and takes `FLOPS` operations.
#define BUFFER_OP(OP, READS, ROWS, FLOPS)                                      \
  SmallVector<Value> OP::readBuffers() { return buffersAmong(READS); }         \
  SmallVector<Value> OP::writtenBuffers() { return buffersAmong(getOuts()); }  \
  std::optional<Polynomial> OP::ownedRows() { return ROWS; }                   \
  Polynomial OP::flops() { return FLOPS; }

BUFFER_OP(BatchMatmulOp, (ValueRange{getLhs(), getRhs()}), std::nullopt,
          Polynomial(2) * elementCount(getOuts()) *
              bufferOf(getLhs()).getDims().back())
BUFFER_OP(PackKeysOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(CastOp, (ValueRange{getInput()}), rowsOf(getOuts()), Polynomial())
BUFFER_OP(SoftmaxOp, (ValueRange{getInput()}), rowsOf(getOuts()),
          Polynomial(10) * elementCount(getOuts()))
BUFFER_OP(EmbeddingOp, getIds(), rowsOf(getOuts()), elementCount(getOuts()))
BUFFER_OP(PositionsOp, (ValueRange{getIds()}), std::nullopt, Polynomial())
BUFFER_OP(ColumnsOp, ValueRange(), std::nullopt, Polynomial())
BUFFER_OP(GatherRowsOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(ScatterRowsOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(PoolOp, (SmallVector<Value>{getInput(), getMask()}), std::nullopt,
          elementCount(getInput()))
BUFFER_OP(TransposeOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(CopyOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(GatherOp, (ValueRange{getTable(), getIndices()}), std::nullopt,
          Polynomial())

/// Parts of an elementwise operation own the rows of `outs` when each input
/// has the same rows, or one row for all.
static std::optional<Polynomial> elementwiseRows(ElementwiseOp op) {
  Polynomial rows = bufferOf(op.getOuts()).getRowCount();
  for (Value input : buffersAmong(op.getInputs())) {
    Polynomial inputRows = bufferOf(input).getRowCount();
    if (inputRows != rows && inputRows != Polynomial(1))
      return std::nullopt;
  }
  return rows;
}
BUFFER_OP(ElementwiseOp, getInputs(), elementwiseRows(*this),
          elementCount(getOuts()) *
              Polynomial(getBody().front().getOperations().size() - 1))

SmallVector<Value> NormOp::readBuffers() { return {getInput()}; }
SmallVector<Value> NormOp::writtenBuffers() {
  return buffersAmong({getOuts(), getOutBf16()});
}
std::optional<Polynomial> NormOp::ownedRows() { return rowsOf(getOuts()); }
Polynomial NormOp::flops() { return Polynomial(8) * elementCount(getOuts()); }

BUFFER_OP(RopeTableOp, (ValueRange{getPositions()}), rowsOf(getOuts()),
          Polynomial(3) * elementCount(getOuts()))
BUFFER_OP(RopeOp, (ValueRange{getInput(), getRopeTable()}), rowsOf(getOuts()),
          Polynomial(3) * elementCount(getOuts()))

SmallVector<Value> AppendOp::readBuffers() { return {getKey(), getValue()}; }
SmallVector<Value> AppendOp::writtenBuffers() { return {}; }
std::optional<Polynomial> AppendOp::ownedRows() { return rowsOf(getKey()); }
Polynomial AppendOp::flops() { return Polynomial(); }

SmallVector<Value> GemmOp::readBuffers() {
  SmallVector<Value> reads{getInput()};
  if (getResidual())
    reads.push_back(getResidual());
  return reads;
}
SmallVector<Value> GemmOp::writtenBuffers() {
  SmallVector<Value> writes(getOuts());
  llvm::append_range(writes, buffersAmong({getNormOut(), getNormOutBf16(),
                                           getNormCounters()}));
  return writes;
}
std::optional<Polynomial> GemmOp::ownedRows() { return std::nullopt; }
Polynomial GemmOp::flops() {
  ArrayRef<int64_t> shape = getWeight().getType().getShape();
  return Polynomial(2 * shape[0] * shape[1]) *
         bufferOf(getInput()).getRowCount();
}

SmallVector<Value> AttentionOp::readBuffers() {
  return buffersAmong({getQuery(), getKey(), getValue(), getMask()});
}
SmallVector<Value> AttentionOp::writtenBuffers() {
  return buffersAmong({getOuts(), getScratch(), getPartials(), getCounters()});
}
AttentionSchedule AttentionOp::getParsedSchedule() {
  return AttentionSchedule::parse(getSchedule()).value_or(AttentionSchedule());
}
CacheType AttentionOp::getCacheType() {
  return getCache() ? llvm::cast<CacheType>(getCache().getType()) : CacheType();
}
std::optional<Polynomial> AttentionOp::ownedRows() { return std::nullopt; }
/// The operation that makes the table behind these keys. In the body of layers
/// the table is an argument; the symbol of the keys' number leads to it.
static RaggedBatchOp getRaggedBatch(AttentionOp op) {
  if (auto ragged = op.getKeyRagged().getDefiningOp<RaggedBatchOp>())
    return ragged;
  RaggedBatchOp found;
  if (!op.getKey())
    return found;
  Polynomial keys = bufferOf(op.getKey()).getDims().front();
  if (auto module = op->getParentOfType<ModuleOp>())
    module.walk([&](RaggedBatchOp ragged) {
      if (Polynomial::symbol(ragged.getKeys().str()) == keys)
        found = ragged;
    });
  return found;
}
std::string kern::pairsName(StringRef rows, int64_t window) {
  std::string name = ("pairs_of_" + rows).str();
  return window ? name + "_window_" + std::to_string(window) : name;
}
/// How many times a row meets a key. Where a mask decides, that has a name of
/// its own; with rows of other ragged it is bounded by the columns.
static Polynomial pairsOf(AttentionOp op) {
  Polynomial rows = bufferOf(op.getQuery()).getRowCount();
  if (op.getCache())
    return Polynomial::symbol(
        pairsName(rows.str(), op.getCacheType().getWindow()));
  RaggedBatchOp ragged = getRaggedBatch(op);
  if (!ragged)
    return rows * bufferOf(op.getKey()).getRowCount();
  if (Value mask = ragged.getMask()) {
    if (op.getQueryRagged().getType() == op.getKeyRagged().getType())
      return Polynomial::symbol(pairsName(ragged.getRows()));
    return rows * bufferOf(mask).getDims()[1];
  }
  Result<Polynomial> columns = Polynomial::parse(ragged.getColumns().str());
  return rows * (columns ? *columns : bufferOf(op.getKey()).getRowCount());
}
Polynomial AttentionOp::flops() {
  Polynomial width = bufferOf(getQuery()).getDims().back() +
                     bufferOf(getOuts()).getDims().back();
  return Polynomial(2) * width * pairsOf(*this);
}
