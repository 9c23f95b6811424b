// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared code for operations on buffers, including memory effects. Weights are
// constant, so reading one has no effect. Kernels have no results and no
// tensors or memrefs, so DestinationStyleOpInterface does not fit them.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

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

SmallVector<Value> kern::getBuffers(ValueRange values) {
  SmallVector<Value> buffers;
  for (Value value : values)
    if (value && llvm::isa<BufferType>(value.getType()))
      buffers.push_back(value);
  return buffers;
}

Polynomial kern::getElementCount(Value buffer) {
  return product(getSizes(buffer));
}

Polynomial kern::getRows(Value buffer) {
  return getBufferType(buffer).getRowCount();
}

bool kern::replacesOut(Value outs, Value out, const RoundedBuffer &rounded,
                       bool onlyRounded, RoundObstacle &obstacle) {
  if (outs == out && onlyRounded && !rounded.scales)
    return true;
  obstacle =
      rounded.scales ? RoundObstacle::NotSupported : RoundObstacle::ReadInF32;
  return false;
}
