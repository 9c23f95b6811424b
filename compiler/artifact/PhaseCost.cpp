// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation's buffers and operations come from its interface; its weights
// are its operands. What it reads of a cache depends on the past, which costs
// name `reads_of_ROWS`: the sum over the sequences of the positions that any of
// the new rows sees; `reads_of_ROWS_source` is the sum of the positions that
// read-only caches hold of them.
#include "compiler/artifact/PhaseCost.h"

using namespace mlir;
using namespace transom;

static Polynomial getBytes(ArrayRef<Value> buffers) {
  Polynomial bytes;
  for (Value buffer : buffers)
    bytes = bytes + cast<kern::BufferType>(buffer.getType()).getByteSize();
  return bytes;
}

/// What an operation writes for others to read: scratch is not.
static SmallVector<Value> getResults(kern::BufferOp op) {
  if (auto attention = dyn_cast<kern::AttentionOp>(op.getOperation()))
    return {attention.getOuts()};
  auto gemm = dyn_cast<kern::GemmOp>(op.getOperation());
  if (gemm && gemm.getColumns())
    return {gemm.getOuts()[0]};
  return op.writtenBuffers();
}

/// Bytes that an operation moves between the caller's rows and a cache: the new
/// positions of an append, all that an attention sees.
static Polynomial getCacheBytes(Operation *op) {
  auto bytes = [](kern::CacheType type, Polynomial positions) {
    return Polynomial(type.getByteSize() / kvBlockSize) * positions;
  };
  if (auto append = dyn_cast<kern::AppendOp>(op))
    return bytes(
        cast<kern::CacheType>(append.getCache().getType()),
        cast<kern::BufferType>(append.getKey().getType()).getRowCount());
  auto attention = dyn_cast<kern::AttentionOp>(op);
  kern::CacheType type = attention ? attention.getCacheType() : nullptr;
  if (!type)
    return {};
  std::string name =
      "reads_of_" + cast<kern::BufferType>(attention.getQuery().getType())
                        .getRowCount()
                        .str();
  if (type.isReadOnly())
    name += "_source";
  if (type.getWindow())
    name += "_window_" + std::to_string(type.getWindow());
  return bytes(type, Polynomial::symbol(name));
}

/// Bytes of the columns of a weight that a product reads, without their bias.
static Polynomial getColumnBytes(Operation *op) {
  auto gemm = dyn_cast<kern::GemmOp>(op);
  if (!gemm || !gemm.getColumns())
    return {};
  return Polynomial(gemm.getWeight().getType().getPanelBytes() / panelWidth) *
         cast<kern::BufferType>(gemm.getColumns().getType()).getDims().front();
}

/// The type of a product's left side; null for another operation.
static Type getMultipliedType(Operation *op) {
  if (!isa<kern::GemmOp, kern::AttentionOp, kern::BatchMatmulOp,
           kern::GroupGemmOp>(op))
    return {};
  return cast<kern::BufferType>(op->getOperand(0).getType()).getElementType();
}

PhaseCost transom::getCost(kern::PhaseOp phase) {
  PhaseCost cost;
  for (auto op : phase.getBody().getOps<kern::BufferOp>()) {
    cost.flops = cost.flops + op.flops();
    if (Type type = getMultipliedType(op)) {
      if (type.isBF16())
        cost.bf16Flops = cost.bf16Flops + op.flops();
      else if (type.isInteger(8))
        cost.int8Flops = cost.int8Flops + op.flops();
    }
    cost.bytes = cost.bytes + getBytes(op.readBuffers()) +
                 getBytes(getResults(op)) + getCacheBytes(op) +
                 getColumnBytes(op);
    if (!op.gathersWeight())
      for (Value operand : op->getOperands())
        if (isa<kern::WeightType>(operand.getType()))
          cost.weights.push_back(operand);
  }
  return cost;
}
