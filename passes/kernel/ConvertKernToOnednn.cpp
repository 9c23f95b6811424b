// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts operations one by one, since oneDNN has equivalent primitives.
// Operations without one keep their generated code.
#include "dialects/kern/Kern.h"
#include "passes/Remarks.h"
#include "passes/kernel/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

#define DEBUG_TYPE "convert-kern-to-onednn"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_CONVERTKERNTOONEDNNPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

static constexpr int64_t kMaxRank = 8;

/// The reason why an operation remains a native kernel, with arguments in
/// addition to the operation; nullopt if oneDNN supports it.
using Refusal = std::optional<RemarkReason>;

static Refusal refuseBuffers(kern::BufferOp op) {
  SmallVector<Value> buffers = op.readBuffers();
  llvm::append_range(buffers, op.writtenBuffers());
  for (Value buffer : buffers) {
    auto type = cast<kern::BufferType>(buffer.getType());
    if (type.getKeyPanels())
      return RemarkReason(RemarkId::OneDnnOfKeyPanels);
    if (!type.getElementType().isF32() || type.getStride())
      return RemarkReason(RemarkId::OneDnnOfOtherBuffers,
                          {{"type", Type(type)}});
    if (type.getRank() < 1 || type.getRank() > kMaxRank)
      return RemarkReason(RemarkId::OneDnnOfManyDimensions,
                          {{"rank", type.getRank()}, {"limit", kMaxRank}});
  }
  return std::nullopt;
}

static Refusal refuse(kern::GemmOp op) {
  if (op.getOuts().size() != 1)
    return RemarkReason(RemarkId::OneDnnOfSeveralOuts,
                        {{"outs", op.getOuts().size()}});
  if (op.getNormGamma())
    return RemarkReason(RemarkId::OneDnnOfNorm);
  if (op.getGlu())
    return RemarkReason(RemarkId::OneDnnOfGlu);
  if (!op.getSummary().empty())
    return RemarkReason(RemarkId::OneDnnOfSummary);
  if (Type element = op.getWeight().getType().getElementType();
      !element.isF32())
    return RemarkReason(RemarkId::OneDnnOfWeightType, {{"type", element}});
  if (op.getActivation() &&
      !kern::OneDnnOp::supportsActivation(*op.getActivation()))
    return RemarkReason(
        RemarkId::OneDnnLacksActivation,
        {{"activation", getActivationName(*op.getActivation())}});
  return std::nullopt;
}

static Refusal refuse(kern::BatchMatmulOp op) {
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (kern::getStorage(operand) == kern::getStorage(op.getOuts()))
      return RemarkReason(RemarkId::OneDnnInPlace);
  return std::nullopt;
}

static Refusal refuse(kern::NormOp op) {
  return op.getRms() ? Refusal(RemarkId::OneDnnOfRmsNorm) : std::nullopt;
}

static Refusal refuse(kern::SoftmaxOp) { return std::nullopt; }

namespace {

struct ConvertKernToOnednnPass
    : public transom::impl::ConvertKernToOnednnPassBase<
          ConvertKernToOnednnPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    SmallVector<kern::BufferOp> operations;
    getOperation().walk([&](kern::BufferOp op) { operations.push_back(op); });
    for (kern::BufferOp op : operations)
      llvm::TypeSwitch<Operation *>(op)
          .Case<kern::GemmOp, kern::BatchMatmulOp, kern::NormOp,
                kern::SoftmaxOp>([&](auto candidate) {
            Operation *operation = candidate;
            Refusal refusal = refuse(candidate);
            if (!refusal)
              refusal = refuseBuffers(op);
            RemarkReason reason = refusal.value_or(RemarkId::ConvertedToOneDnn);
            reason.args.emplace_back("operation", operation);
            remarks.report(operation, reason);
            if (refusal)
              return;
            OpBuilder b(candidate);
            convert(b, candidate);
            candidate.erase();
          });
  }

  kern::OneDnnOp convert(OpBuilder &b, kern::GemmOp op) {
    ++products;
    SmallVector<Value> weights{op.getWeight()};
    if (op.getBias())
      weights.push_back(op.getBias());
    return b.create<kern::OneDnnOp>(
        op.getLoc(), kern::OneDnnPrimitive::Matmul, op.getInput(), Value(),
        weights, op.getResidual(), op.getOuts()[0],
        op.getActivation()
            ? kern::ActivationAttr::get(op.getContext(), *op.getActivation())
            : kern::ActivationAttr(),
        FloatAttr());
  }

  kern::OneDnnOp convert(OpBuilder &b, kern::BatchMatmulOp op) {
    ++batchProducts;
    return b.create<kern::OneDnnOp>(
        op.getLoc(), kern::OneDnnPrimitive::BatchMatmul, op.getLhs(),
        op.getRhs(), ValueRange(), Value(), op.getOuts(),
        kern::ActivationAttr(), FloatAttr());
  }

  kern::OneDnnOp convert(OpBuilder &b, kern::SoftmaxOp op) {
    ++softmaxes;
    return b.create<kern::OneDnnOp>(op.getLoc(), kern::OneDnnPrimitive::Softmax,
                                    op.getInput(), Value(), ValueRange(),
                                    Value(), op.getOuts(),
                                    kern::ActivationAttr(), FloatAttr());
  }

  kern::OneDnnOp convert(OpBuilder &b, kern::NormOp op) {
    ++norms;
    SmallVector<Value> weights{op.getGamma()};
    if (op.getBeta())
      weights.push_back(op.getBeta());
    return b.create<kern::OneDnnOp>(
        op.getLoc(), kern::OneDnnPrimitive::LayerNorm, op.getInput(), Value(),
        weights, Value(), op.getOuts(), kern::ActivationAttr(),
        op.getEpsAttr());
  }
};

} // namespace
