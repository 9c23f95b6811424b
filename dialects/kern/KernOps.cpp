// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations of kern as TableGen defines them. The rest of each operation
// is in the source of its group.
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
