// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product takes over the norm of its rows that follows it.
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/CastFuser.h"
#include "passes/kernel/NormJoiner.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-fuse-norm"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FUSENORMPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// The first operation after a product that touches its result, when that is
/// a norm of it.
static kern::NormOp findNorm(kern::GemmOp gemm) {
  Value product = gemm.getOuts()[0], storage = kern::getStorage(product);
  for (Operation *op = gemm->getNextNode(); op; op = op->getNextNode()) {
    if (auto norm = dyn_cast<kern::NormOp>(op))
      if (norm.getInput() == product)
        return norm;
    for (Value operand : op->getOperands())
      if (isa<kern::BufferType>(operand.getType()) &&
          kern::getStorage(operand) == storage)
        return {};
  }
  return {};
}

/// Why a norm does not join the product, or null.
static const char *refusal(kern::GemmOp gemm, kern::NormOp norm) {
  if (gemm.getOuts().size() != 1)
    return "the product has several outs";
  if (gemm.getNormGamma())
    return "the product has a norm already";
  if (gemm.getGlu())
    return "the product makes a GLU";
  if (!gemm.getSummary().empty())
    return "the product summarizes its rows";
  if (norm.getOutBf16() ||
      !cast<kern::BufferType>(norm.getOuts().getType()).isF32())
    return "the norm is rounded already";
  if (kern::getStorage(norm.getOuts()) == kern::getStorage(gemm.getOuts()[0]))
    return "the norm overwrites the product";
  if (kern::getStorage(norm.getOuts()) == kern::getStorage(gemm.getInput()))
    return "the norm overwrites what the product reads";
  // The product moves after what is between both.
  for (Operation *op = gemm->getNextNode(); op != norm; op = op->getNextNode())
    for (Value read : gemm.readBuffers())
      if (writes(*op, kern::getStorage(read)))
        return "what the product reads is overwritten before the norm";
  return nullptr;
}

namespace {

struct FuseNormPass : public transom::impl::FuseNormPassBase<FuseNormPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation(), DEBUG_TYPE);
    SmallVector<kern::GemmOp> gemms;
    getOperation().walk([&](kern::GemmOp gemm) { gemms.push_back(gemm); });
    for (kern::GemmOp gemm : gemms) {
      kern::NormOp norm = findNorm(gemm);
      if (!norm)
        continue;
      if (const char *reason = refusal(gemm, norm)) {
        remarks.missed(norm, reason);
        continue;
      }
      fuse(gemm, norm, remarks);
    }
  }

  void fuse(kern::GemmOp gemm, kern::NormOp norm, Remarks &remarks) {
    OpBuilder b(norm);
    kern::GemmOp joined = withNorm(b, gemm, norm, norm.getGamma(),
                                   norm.getBeta(), norm.getOuts());
    norm.erase();
    ++fused;
    remarks.passed(joined, "norm joined the product");
  }
};

} // namespace
