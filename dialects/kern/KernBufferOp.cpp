// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory effects of the operations on buffers. Weights are constant, so reading
// one is no effect. Kernels have no results and no tensors or memrefs, so
// DestinationStyleOpInterface does not fit them.
#include "dialects/kern/KernBufferOp.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

void kern::addBufferEffects(BufferOp op, Effects &effects) {
  SmallVector<Value> reads = op.readBuffers(), writes = op.writtenBuffers();
  Value cache = op.getAccessedCache();
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    bool isCache = value == cache;
    if (isCache || llvm::is_contained(reads, value))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isCache ? op.writesCache() : llvm::is_contained(writes, value))
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}
