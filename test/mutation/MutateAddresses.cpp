// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses that are one element off, strides that are too long, and memory
// that is written by mistake or not at all.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "test/mutation/CodeMutations.h"

using namespace mlir;

namespace transom::testing {

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// The element size in bytes for reads and writes at an address; 0 if only
/// other addresses are computed from it, also in a called function.
static int64_t getElementBytes(Value address) {
  for (OpOperand &use : address.getUses()) {
    Operation *op = use.getOwner();
    Type type;
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      type = load.getType();
    else if (auto load = dyn_cast<LLVM::MaskedLoadOp>(op))
      type = load.getType();
    else if (auto store = dyn_cast<LLVM::StoreOp>(op))
      type = store.getValue().getType();
    else if (auto store = dyn_cast<LLVM::MaskedStoreOp>(op))
      type = store.getValue().getType();
    else
      continue;
    type = getElementTypeOrSelf(type);
    return type.isIntOrFloat() ? std::max(1u, type.getIntOrFloatBitWidth() / 8)
                               : 8;
  }
  return 0;
}

/// The same with more or fewer bytes.
static Operation *shift(LLVM::GEPOp address, int64_t bytes) {
  OpBuilder b(address);
  if (address.getDynamicIndices().empty()) {
    const int32_t index = address.getRawConstantIndices()[0];
    address.setRawConstantIndices({static_cast<int32_t>(index + bytes)});
    return address;
  }
  Value index = address.getDynamicIndices()[0];
  Value more = b.create<arith::ConstantOp>(
      address.getLoc(), b.getIntegerAttr(index.getType(), bytes));
  address->setOperand(1,
                      b.create<arith::AddIOp>(address.getLoc(), index, more));
  return address;
}

void shiftAddresses(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](LLVM::GEPOp address) {
    if (!live.contains(address) ||
        address.getRawConstantIndices().size() != 1 ||
        !address.getElemType().isInteger(8))
      return;
    int64_t bytes = getElementBytes(address);
    if (!bytes)
      bytes = 4;
    for (int64_t sign : {1, -1})
      edits.push_back({address,
                       sign > 0 ? "an element after" : "an element before",
                       [=]() mutable { return shift(address, sign * bytes); }});
  });
}

/// Returns true if an integer becomes part of an address in live code.
static bool reachesAddress(Value value, const LiveCode &live) {
  return llvm::any_of(value.getUsers(), [&](Operation *op) {
    if (!live.contains(op))
      return false;
    if (isa<LLVM::GEPOp>(op))
      return true;
    return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) &&
           reachesAddress(op->getResult(0), live);
  });
}

void changeStrides(ModuleOp code, const LiveCode &live, Edits &edits) {
  code.walk([&](arith::MulIOp product) {
    APInt factor;
    if (!live.contains(product) ||
        !matchPattern(product.getRhs(), m_ConstantInt(&factor)) ||
        !reachesAddress(product, live))
      return;
    const int64_t stride = factor.getSExtValue();
    if (stride < 8)
      return;
    for (int64_t more : {4, -4})
      edits.push_back(
          {product, more > 0 ? "a longer stride" : "a shorter stride",
           [=]() mutable {
             OpBuilder b(product);
             product->setOperand(
                 1, b.create<arith::ConstantOp>(
                        product.getLoc(),
                        b.getIntegerAttr(product.getType(), stride + more)));
             return product;
           }});
  });
}

//===----------------------------------------------------------------------===//
// Writes
//===----------------------------------------------------------------------===//

void writePrefetched(ModuleOp code, const LiveCode &, Edits &edits) {
  code.walk([&](LLVM::Prefetch prefetch) {
    edits.push_back({prefetch, "writes", [=]() mutable -> Operation * {
                       // At the end, since output rows are prefetched before
                       // they are written.
                       OpBuilder b(prefetch->getBlock()->getTerminator());
                       Value one = b.create<arith::ConstantOp>(
                           prefetch.getLoc(), b.getF32FloatAttr(1));
                       Operation *store = b.create<LLVM::StoreOp>(
                           prefetch.getLoc(), one, prefetch.getAddr(),
                           /*alignment=*/1);
                       prefetch.getOperation()->erase();
                       return store;
                     }});
  });
}

void leaveOutStores(ModuleOp code, const LiveCode &, Edits &edits) {
  code.walk([&](Operation *op) {
    if (isa<LLVM::StoreOp, LLVM::MaskedStoreOp>(op))
      edits.push_back({op, "left out", [=]() mutable -> Operation * {
                         op->erase();
                         return nullptr;
                       }});
  });
}

} // namespace transom::testing
