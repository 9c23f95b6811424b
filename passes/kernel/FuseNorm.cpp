// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product takes over the LayerNorm of its rows. Counters, one a row, are
// zeroed at the start of the function and tell which part completes a block.
#include "dialects/attn/Place.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Decisions.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-fuse-norm"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_FUSENORMPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// Why a norm does not join the product, or null.
static const char *refusal(kern::GemmOp gemm, kern::NormOp norm) {
  if (norm.getRms())
    return "an RMSNorm stays a kernel of its own";
  if (gemm.getOuts().size() != 1)
    return "the product has several outs";
  if (gemm->getBlock() != norm->getBlock())
    return "the norm is in another layer";
  return nullptr;
}

/// Words that are zero when the function's first phase has run.
static Value makeCounters(kern::GemmOp gemm) {
  OpBuilder b = OpBuilder::atBlockBegin(gemm->getBlock());
  auto product = cast<kern::BufferType>(gemm.getOuts()[0].getType());
  auto type = kern::BufferType::get(b.getContext(), {product.getRowCount()},
                                    b.getI64Type());
  Value counters = b.create<kern::AllocOp>(gemm.getLoc(), type, IntegerAttr());
  auto clear =
      b.create<kern::ElementwiseOp>(gemm.getLoc(), ValueRange(), counters);
  b.createBlock(&clear.getBody());
  Value zero = b.create<arith::ConstantIntOp>(gemm.getLoc(), 0, 64);
  b.create<kern::YieldOp>(gemm.getLoc(), zero);
  return counters;
}

namespace {

struct FuseNormPass : public transom::impl::FuseNormPassBase<FuseNormPass> {
  void runOnOperation() override {
    Decisions decisions(getOperation(), DEBUG_TYPE);
    SmallVector<kern::GemmOp> gemms;
    getOperation().walk([&](kern::GemmOp gemm) { gemms.push_back(gemm); });
    for (kern::GemmOp gemm : gemms) {
      auto norm = dyn_cast_or_null<kern::NormOp>(onlyReader(gemm.getOuts()[0]));
      if (!norm)
        continue;
      if (const char *reason = refusal(gemm, norm)) {
        decisions.refused(norm, reason);
        continue;
      }
      fuse(gemm, norm, decisions);
    }
  }

  void fuse(kern::GemmOp gemm, kern::NormOp norm, Decisions &decisions) {
    OpBuilder b(norm);
    Location place = fusePlaces(&getContext(), {gemm.getLoc(), norm.getLoc()});
    auto joined = b.create<kern::GemmOp>(
        place, gemm.getInput(), gemm.getWeight(), gemm.getBias(),
        gemm.getResidual(), gemm.getSegments(), norm.getGamma(), norm.getBeta(),
        norm.getOuts(), Value(), makeCounters(gemm), gemm.getOuts(),
        gemm.getActivationAttr(), norm.getEpsAttr(), UnitAttr(), StringAttr());
    norm.erase();
    gemm.erase();
    ++fused;
    decisions.done(joined, "norm joined the product");
  }
};

} // namespace
