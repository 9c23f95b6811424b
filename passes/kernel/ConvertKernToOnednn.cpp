// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts operation by operation, since oneDNN has the same ones; what it
// lacks keeps its generated code.
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

/// Why oneDNN cannot take these buffers, or null.
static const char *refuseBuffers(kern::BufferOp op) {
  SmallVector<Value> buffers = op.readBuffers();
  llvm::append_range(buffers, op.writtenBuffers());
  for (Value buffer : buffers) {
    auto type = cast<kern::BufferType>(buffer.getType());
    if (type.getKeyPanels())
      return "key panels are packed by a native kernel";
    if (!type.getElementType().isF32() || type.getStride())
      return "oneDNN is given dense buffers of f32 only";
    if (type.getRank() < 1 || type.getRank() > kMaxRank)
      return "oneDNN is given tensors of 1 to 8 dimensions only";
  }
  return nullptr;
}

static const char *refuse(kern::GemmOp op) {
  if (op.getOuts().size() != 1)
    return "the product has several outs";
  if (op.getNormGamma())
    return "the product has a norm of its own";
  if (op.getGlu())
    return "the product makes a GLU";
  if (!op.getSummary().empty())
    return "the product summarizes its rows";
  if (!op.getWeight().getType().getElementType().isF32())
    return "oneDNN is given weights of f32 only";
  if (op.getActivation() &&
      !kern::OneDnnOp::supportsActivation(*op.getActivation()))
    return "oneDNN lacks the activation";
  return nullptr;
}

static const char *refuse(kern::BatchMatmulOp op) {
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (kern::getStorage(operand) == kern::getStorage(op.getOuts()))
      return "the product writes what it reads";
  return nullptr;
}

static const char *refuse(kern::NormOp op) {
  return op.getRms() ? "an RMSNorm stays a native kernel" : nullptr;
}

static const char *refuse(kern::SoftmaxOp) { return nullptr; }

namespace {

struct ConvertKernToOnednnPass
    : public transom::impl::ConvertKernToOnednnPassBase<
          ConvertKernToOnednnPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation(), DEBUG_TYPE);
    SmallVector<kern::BufferOp> operations;
    getOperation().walk([&](kern::BufferOp op) { operations.push_back(op); });
    for (kern::BufferOp op : operations)
      llvm::TypeSwitch<Operation *>(op)
          .Case<kern::GemmOp, kern::BatchMatmulOp, kern::NormOp,
                kern::SoftmaxOp>([&](auto candidate) {
            const char *reason = refuse(candidate);
            if (!reason)
              reason = refuseBuffers(op);
            if (reason)
              return remarks.missed(candidate, reason);
            OpBuilder b(candidate);
            remarks.passed(convert(b, candidate), "goes to oneDNN");
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
