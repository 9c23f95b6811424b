// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each operation of the kern dialect reads and writes, in which row space
// workers own their rows, and how many floating-point operations it takes.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernControlOps.h"
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

static BufferType getBufferType(Value value) {
  return llvm::cast<BufferType>(value.getType());
}

/// The buffers among these values.
static SmallVector<Value> getBuffers(ValueRange values) {
  SmallVector<Value> buffers;
  for (Value value : values)
    if (value && llvm::isa<BufferType>(value.getType()))
      buffers.push_back(value);
  return buffers;
}

static Polynomial getElementCount(Value buffer) {
  BufferType type = getBufferType(buffer);
  Polynomial count(1);
  for (const Polynomial &dim : type.getDims())
    count = count * dim;
  return count;
}

static std::optional<Polynomial> getRows(Value buffer) {
  return getBufferType(buffer).getRowCount();
}

/// Defines the interface of an operation that reads `READS`, writes `outs`,
/// owns the rows `ROWS` and takes `FLOPS` operations.
#define BUFFER_OP(OP, READS, ROWS, FLOPS)                                      \
  SmallVector<Value> OP::readBuffers() { return getBuffers(READS); }           \
  SmallVector<Value> OP::writtenBuffers() { return getBuffers(getOuts()); }    \
  std::optional<Polynomial> OP::ownedRows() { return ROWS; }                   \
  Polynomial OP::flops() { return FLOPS; }

bool CastOp::acceptsStride() { return true; }
bool ElementwiseOp::acceptsStride() { return true; }
bool EmbeddingOp::acceptsStride() { return true; }
bool EmbeddingOp::gathersWeight() { return true; }
bool GatherOp::acceptsStride() { return true; }
bool NormOp::acceptsStride() { return true; }
bool RopeOp::acceptsStride() { return true; }
bool RopeTableOp::gathersWeight() { return true; }
bool ScatterRowsOp::acceptsStride() { return true; }

BUFFER_OP(BatchMatmulOp, (ValueRange{getLhs(), getRhs()}), std::nullopt,
          Polynomial(2) * getElementCount(getOuts()) *
              getBufferType(getLhs()).getDims().back())
BUFFER_OP(PackKeysOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(CastOp, (ValueRange{getInput()}), getRows(getOuts()), Polynomial())
BUFFER_OP(SoftmaxOp, (ValueRange{getInput()}), getRows(getOuts()),
          Polynomial(10) * getElementCount(getOuts()))
BUFFER_OP(EmbeddingOp, getIds(), getRows(getOuts()), getElementCount(getOuts()))
BUFFER_OP(PositionsOp, (ValueRange{getIds()}), std::nullopt, Polynomial())
BUFFER_OP(ColumnsOp, ValueRange(), std::nullopt, Polynomial())
BUFFER_OP(GatherRowsOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(ScatterRowsOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(PoolOp, (SmallVector<Value>{getInput(), getMask()}), std::nullopt,
          getElementCount(getInput()))
BUFFER_OP(TransposeOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(CopyOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(GatherOp, (ValueRange{getTable(), getIndices()}), std::nullopt,
          Polynomial())

/// Workers of an elementwise operation own the rows of `outs` when each input
/// has the same rows, or one row for all.
static std::optional<Polynomial> elementwiseRows(ElementwiseOp op) {
  Polynomial rows = getBufferType(op.getOuts()).getRowCount();
  for (Value input : getBuffers(op.getInputs())) {
    Polynomial inputRows = getBufferType(input).getRowCount();
    if (inputRows != rows && inputRows != Polynomial(1))
      return std::nullopt;
  }
  return rows;
}
BUFFER_OP(ElementwiseOp, getInputs(), elementwiseRows(*this),
          getElementCount(getOuts()) *
              Polynomial(getBody().front().getOperations().size() - 1))

SmallVector<Value> NormOp::readBuffers() { return {getInput()}; }
SmallVector<Value> NormOp::writtenBuffers() {
  return getBuffers({getOuts(), getOutBf16()});
}
std::optional<Polynomial> NormOp::ownedRows() { return getRows(getOuts()); }
Polynomial NormOp::flops() {
  return Polynomial(8) * getElementCount(getOuts());
}

BUFFER_OP(RopeTableOp, (ValueRange{getPositions()}), getRows(getOuts()),
          Polynomial(3) * getElementCount(getOuts()))
BUFFER_OP(RopeOp, (ValueRange{getInput(), getRopeTable()}), getRows(getOuts()),
          Polynomial(3) * getElementCount(getOuts()))

SmallVector<Value> AppendOp::readBuffers() { return {getKey(), getValue()}; }
SmallVector<Value> AppendOp::writtenBuffers() { return {}; }
bool AppendOp::acceptsStride() { return true; }
Value AppendOp::getAccessedCache() { return getCache(); }
bool AppendOp::writesCache() { return true; }
std::optional<Polynomial> AppendOp::ownedRows() { return getRows(getKey()); }
Polynomial AppendOp::flops() { return Polynomial(); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

bool GemmOp::acceptsStride() { return true; }

std::optional<Activation> GemmOp::getActivation() {
  EpilogueAttr epilogue = getEpilogueAttr();
  if (!epilogue || !epilogue.getActivation() || epilogue.getGlu())
    return std::nullopt;
  return epilogue.getActivation().getValue();
}

std::optional<Activation> GemmOp::getGlu() {
  EpilogueAttr epilogue = getEpilogueAttr();
  if (!epilogue || !epilogue.getGlu())
    return std::nullopt;
  return epilogue.getActivation().getValue();
}

std::optional<APFloat> GemmOp::getNormEps() {
  EpilogueAttr epilogue = getEpilogueAttr();
  if (!epilogue || epilogue.getNorm() == NormKind::None)
    return std::nullopt;
  return epilogue.getEps().getValue();
}

bool GemmOp::getNormRms() {
  EpilogueAttr epilogue = getEpilogueAttr();
  return epilogue && epilogue.getNorm() == NormKind::RmsNorm;
}

SmallVector<Value> GemmOp::readBuffers() {
  SmallVector<Value> reads{getInput()};
  if (getResidual())
    reads.push_back(getResidual());
  return reads;
}
SmallVector<Value> GemmOp::writtenBuffers() {
  SmallVector<Value> writes(getOuts());
  llvm::append_range(
      writes, getBuffers({getNormOut(), getNormOutBf16(), getNormCounters()}));
  return writes;
}
std::optional<Polynomial> GemmOp::ownedRows() { return std::nullopt; }
Polynomial GemmOp::flops() {
  ArrayRef<int64_t> shape = getWeight().getType().getShape();
  return Polynomial(2 * shape[0] * shape[1]) *
         getBufferType(getInput()).getRowCount();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

bool AttentionOp::acceptsStride() { return true; }
Value AttentionOp::getAccessedCache() { return getCache(); }

SmallVector<Value> AttentionOp::readBuffers() {
  return getBuffers({getQuery(), getKey(), getValue(), getMask()});
}
SmallVector<Value> AttentionOp::writtenBuffers() {
  return getBuffers({getOuts(), getScratch(), getPartials(), getCounters()});
}
CacheType AttentionOp::getCacheType() {
  return getCache() ? llvm::cast<CacheType>(getCache().getType()) : CacheType();
}
std::optional<Polynomial> AttentionOp::ownedRows() { return std::nullopt; }
/// The operation that makes the table of these keys. In the body of layers
/// the table is an argument; the symbol of the keys' number leads to it.
static RaggedBatchOp getRaggedBatch(AttentionOp op) {
  if (auto ragged = op.getKeyRagged().getDefiningOp<RaggedBatchOp>())
    return ragged;
  RaggedBatchOp found;
  if (!op.getKey())
    return found;
  Polynomial keys = getBufferType(op.getKey()).getDims().front();
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
static Polynomial getPairs(AttentionOp op) {
  Polynomial rows = getBufferType(op.getQuery()).getRowCount();
  if (CacheType cache = op.getCacheType())
    return cache.isReadOnly()
               ? rows * Polynomial(cache.getPositions())
               : Polynomial::symbol(pairsName(rows.str(), cache.getWindow()));
  RaggedBatchOp ragged = getRaggedBatch(op);
  if (!ragged)
    return rows * getBufferType(op.getKey()).getRowCount();
  if (Value mask = ragged.getMask()) {
    if (op.getQueryRagged().getType() == op.getKeyRagged().getType())
      return Polynomial::symbol(pairsName(ragged.getRows()));
    return rows * getBufferType(mask).getDims()[1];
  }
  Result<Polynomial> columns = Polynomial::parse(ragged.getColumns().str());
  return rows * (columns ? *columns : getBufferType(op.getKey()).getRowCount());
}
Polynomial AttentionOp::flops() {
  Polynomial width = getBufferType(getQuery()).getDims().back() +
                     getBufferType(getOuts()).getDims().back();
  return Polynomial(2) * width * getPairs(*this);
}
