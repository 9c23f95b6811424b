// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kern operations defined by TableGen. Each operation's methods are in its
// group's source.
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

bool kern::isQuantized(Value buffer) {
  return getBufferType(buffer).getElementType().isInteger(8);
}

std::optional<int64_t> kern::findQuantizedGroup(Value numbers, Value scales) {
  SmallVector<Polynomial> dims = getBufferType(numbers).getDims();
  const int64_t width = *dims.back().constant();
  for (int64_t group : quantizedGroups) {
    dims.back() = Polynomial(2 * llvm::divideCeil(width, group));
    if (getBufferType(scales).getDims() == dims)
      return group;
  }
  return std::nullopt;
}

Value kern::getStorage(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewOp>())
    buffer = view.getSource();
  return buffer;
}
