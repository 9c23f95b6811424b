// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fuses the norm that follows a GEMM.
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

/// Reports a norm that another operation precedes in accessing the GEMM result.
static void reportLateNorm(kern::GemmOp gemm, Operation *other,
                           Remarks &remarks) {
  for (Operation *user : gemm.getOuts()[0].getUsers()) {
    auto norm = dyn_cast<kern::NormOp>(user);
    if (norm && norm.getInput() == gemm.getOuts()[0] &&
        norm->getBlock() == gemm->getBlock() && other->isBeforeInBlock(norm) &&
        gemm->isBeforeInBlock(norm))
      remarks.report(norm, {RemarkId::NormAfterOtherReader,
                            {{"norm", user}, {"reader", other}}});
  }
}

/// Reports norms of all GEMM outs except the first.
static void reportNormsOfSlices(kern::GemmOp gemm, Remarks &remarks) {
  for (Value out : gemm.getOuts().drop_front())
    for (Operation *user : out.getUsers())
      if (auto norm = dyn_cast<kern::NormOp>(user);
          norm && norm.getInput() == out)
        remarks.report(norm,
                       {RemarkId::NormOfSeveralOuts,
                        {{"norm", user}, {"outs", gemm.getOuts().size()}}});
}

/// The first operation after a GEMM that accesses its result, if it is a norm
/// of the result.
static kern::NormOp findNorm(kern::GemmOp gemm, Remarks &remarks) {
  Value product = gemm.getOuts()[0], storage = kern::getStorage(product);
  for (Operation *op = gemm->getNextNode(); op; op = op->getNextNode()) {
    if (auto norm = dyn_cast<kern::NormOp>(op))
      if (norm.getInput() == product)
        return norm;
    for (Value operand : op->getOperands())
      if (isa<kern::BufferType>(operand.getType()) &&
          kern::getStorage(operand) == storage) {
        reportLateNorm(gemm, op, remarks);
        return {};
      }
  }
  return {};
}

/// The reason why a norm cannot be fused, or nullopt.
static std::optional<RemarkReason> refusal(kern::GemmOp gemm,
                                           kern::NormOp norm) {
  auto because = [&](RemarkId id, std::vector<RemarkArgument> args = {}) {
    args.emplace_back("norm", norm.getOperation());
    return RemarkReason(id, std::move(args));
  };
  // Check the outs and epilogue.
  if (gemm.getOuts().size() != 1)
    return because(RemarkId::NormOfSeveralOuts,
                   {{"outs", gemm.getOuts().size()}});
  if (gemm.getNormGamma())
    return because(RemarkId::ProductHasNorm);
  if (gemm.getGlu())
    return because(RemarkId::NormOfGlu);
  if (!gemm.getSummary().empty())
    return because(RemarkId::NormOfSummarizedRows);
  // Check the norm's outputs.
  auto type = cast<kern::BufferType>(norm.getOuts().getType());
  if (norm.getCopy() || !type.isF32())
    return because(
        RemarkId::NormIsRounded,
        {{"type", norm.getCopy() ? "f32 and bf16"
                                 : getRemarkText(type.getElementType())}});
  if (kern::getStorage(norm.getOuts()) == kern::getStorage(gemm.getOuts()[0]))
    return because(RemarkId::NormOverwritesProduct);
  if (kern::getStorage(norm.getOuts()) == kern::getStorage(gemm.getInput()))
    return because(RemarkId::NormOverwritesInput, {{"input", gemm.getInput()}});
  // The GEMM moves after the operations between both.
  for (Operation *op = gemm->getNextNode(); op != norm; op = op->getNextNode())
    for (Value read : gemm.readBuffers())
      if (writes(*op, kern::getStorage(read)))
        return because(RemarkId::InputIsOverwrittenBeforeNorm,
                       {{"writer", op}});
  return std::nullopt;
}

namespace {

struct FuseNormPass : public transom::impl::FuseNormPassBase<FuseNormPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<kern::GemmOp> gemms;
    getOperation().walk([&](kern::GemmOp gemm) {
      if (!gemm.getColumns()) // listed columns are not whole rows
        gemms.push_back(gemm);
    });
    for (kern::GemmOp gemm : gemms) {
      reportNormsOfSlices(gemm, remarks);
      kern::NormOp norm = findNorm(gemm, remarks);
      if (!norm)
        continue;
      if (std::optional<RemarkReason> reason = refusal(gemm, norm)) {
        remarks.report(norm, *reason);
        continue;
      }
      fuse(gemm, norm, remarks);
    }
  }

  void fuse(kern::GemmOp gemm, kern::NormOp norm, Remarks &remarks) {
    OpBuilder b(norm);
    kern::GemmOp joined = withNorm(b, gemm, norm);
    norm.erase();
    ++fused;
    remarks.report(joined, RemarkId::NormJoinedProduct);
  }
};

} // namespace
