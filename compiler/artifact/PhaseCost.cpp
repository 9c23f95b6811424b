// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each operation reports its buffers and FLOPs through its interface; its
// weights are its operands. Cache reads depend on the past and use extra
// symbols: `reads_of_ROWS` is the sum, over all sequences, of the positions
// visible to any new row; `reads_of_ROWS_source` is the sum of the positions in
// read-only caches.
#include "compiler/artifact/PhaseCost.h"

using namespace mlir;
using namespace transom;

static Polynomial getBytes(ArrayRef<Value> buffers) {
  Polynomial bytes;
  for (Value buffer : buffers)
    bytes = bytes + cast<kern::BufferType>(buffer.getType()).getByteSize();
  return bytes;
}

/// Returns the outputs of an operation, without scratch buffers.
static SmallVector<Value> getResults(kern::BufferOp op) {
  if (auto attention = dyn_cast<kern::AttentionOp>(op.getOperation()))
    return {attention.getOuts()};
  auto gemm = dyn_cast<kern::GemmOp>(op.getOperation());
  if (gemm && gemm.getColumns())
    return {gemm.getOuts()[0]};
  return op.writtenBuffers();
}

/// Returns the bytes moved between the caller's rows and a cache: the new
/// positions for an append, all visible positions for attention.
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

/// Returns the bytes read from a GEMM weight's selected columns, without bias.
static Polynomial getColumnBytes(Operation *op) {
  auto gemm = dyn_cast<kern::GemmOp>(op);
  if (!gemm || !gemm.getColumns())
    return {};
  return Polynomial(gemm.getWeight().getType().getPanelBytes() / panelWidth) *
         cast<kern::BufferType>(gemm.getColumns().getType()).getDims().front();
}

/// Returns the left operand's element type for matmuls and attention; null for
/// other operations.
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
