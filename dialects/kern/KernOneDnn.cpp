// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `kern.onednn`: what it reads and writes, and its verifier; numbers are those
// of the rules in the description.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

/// Most dimensions of a call's tensor.
static constexpr int64_t kMaxRank = 8;

OneDnnOp PhaseOp::getCall() {
  Block &body = getBody().front();
  return llvm::hasSingleElement(body) ? llvm::dyn_cast<OneDnnOp>(body.front())
                                      : OneDnnOp();
}

bool OneDnnOp::supportsActivation(Activation kind) {
  return getActivationInfo(kind).usage & activation::OneDnn;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

SmallVector<Value> OneDnnOp::readBuffers() {
  SmallVector<Value> reads{getInput()};
  for (Value other : {getRhs(), getResidual()})
    if (other)
      reads.push_back(other);
  return reads;
}
SmallVector<Value> OneDnnOp::writtenBuffers() { return {getOuts()}; }
std::optional<Polynomial> OneDnnOp::ownedRows() { return std::nullopt; }

/// As those of the operations that it stands for.
Polynomial OneDnnOp::flops() {
  Polynomial elements = product(getSizes(getOuts()));
  if (getPrimitive() == "softmax")
    return Polynomial(10) * elements;
  if (getPrimitive() == "layer_norm")
    return Polynomial(8) * elements;
  return Polynomial(2) * elements * getSizes(getInput()).back();
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// (1): operands that belong to the primitive.
static LogicalResult verifyOperands(OneDnnOp op) {
  StringRef primitive = op.getPrimitive();
  if (!llvm::is_contained({"matmul", "batch_matmul", "softmax", "layer_norm"},
                          primitive))
    return op.emitOpError("expects a known primitive, got '")
           << primitive
           << "'; supported: matmul, batch_matmul, softmax, layer_norm";
  const bool weighted = primitive == "matmul" || primitive == "layer_norm";
  const size_t weights = op.getWeights().size();
  if (weighted ? weights < 1 || weights > 2 : weights != 0)
    return op.emitOpError("expects ")
           << (weighted ? "one or two weights" : "no weight") << ", got "
           << weights;
  if (bool(op.getRhs()) != (primitive == "batch_matmul"))
    return op.emitOpError("expects an rhs exactly in 'batch_matmul'");
  if (op.getResidual() && primitive != "matmul")
    return op.emitOpError("expects a residual in 'matmul' only");
  if (bool(op.getEps()) != (primitive == "layer_norm"))
    return op.emitOpError("expects 'eps' exactly in 'layer_norm'");
  return success();
}

/// (2).
static LogicalResult verifyBuffers(OneDnnOp op) {
  SmallVector<Value> buffers = op.readBuffers();
  buffers.push_back(op.getOuts());
  for (Value buffer : buffers)
    if (!isF32(buffer) || !isDense(buffer) ||
        getBufferType(buffer).getRank() < 1 ||
        getBufferType(buffer).getRank() > kMaxRank)
      return op.emitOpError("expects dense buffers of f32 with 1 to 8 sizes, "
                            "got ")
             << buffer.getType();
  return success();
}

/// (3): weights of these shapes, in rows.
static LogicalResult verifyWeights(OneDnnOp op, ArrayRef<Polynomial> first,
                                   const Polynomial &columns) {
  for (auto [i, weight] : llvm::enumerate(op.getWeights())) {
    auto type = llvm::cast<WeightType>(weight.getType());
    Sizes expected = i == 0 ? Sizes(first) : Sizes{columns};
    if (getSizes(weight) != expected || !type.getElementType().isF32() ||
        !type.getSplits().empty())
      return op.emitOpError("expects a weight of f32 ")
             << text(expected) << " without splits, got " << type;
    if (failed(verifyLayout(op, "a weight", weight, WeightLayout::Rows)))
      return failure();
  }
  return success();
}

/// (4) of a product of two activations.
static LogicalResult verifyBatchMatmul(OneDnnOp op) {
  Sizes lhs = getSizes(op.getInput()), rhs = getSizes(op.getRhs()),
        outs = getSizes(op.getOuts());
  if (lhs.size() < 2 || rhs.size() < 2 || lhs.size() > outs.size() ||
      rhs.size() > outs.size() || lhs.back() != rhs[rhs.size() - 2] ||
      outs.back() != rhs.back() || outs[outs.size() - 2] != lhs[lhs.size() - 2])
    return op.emitOpError("expects outs [.., m, n] of [.., m, k] and "
                          "[.., k, n], got ")
           << text(outs) << " of " << text(lhs) << " and " << text(rhs);
  for (const Sizes &own : {lhs, rhs})
    for (size_t i = 3; i <= own.size(); ++i)
      if (own[own.size() - i] != Polynomial(1) &&
          own[own.size() - i] != outs[outs.size() - i])
        return op.emitOpError("expects leading sizes that broadcast to ")
               << text(outs) << ", got " << text(own);
  return success();
}

/// (3) and (4).
static LogicalResult verifySizes(OneDnnOp op) {
  Sizes input = getSizes(op.getInput()), outs = getSizes(op.getOuts());
  if (op.getPrimitive() == "batch_matmul")
    return verifyBatchMatmul(op);
  if (op.getPrimitive() != "matmul") {
    if (failed(
            verifySameSizes(op, "input and outs", op.getInput(), op.getOuts())))
      return failure();
    return verifyWeights(op, {outs.back()}, outs.back());
  }
  if (failed(verifyWeights(op, {outs.back(), input.back()}, outs.back())))
    return failure();
  if (getBufferType(op.getInput()).getRowCount() !=
      getBufferType(op.getOuts()).getRowCount())
    return op.emitOpError("expects input and outs of equal rows, got ")
           << text(input) << " and " << text(outs);
  if (op.getResidual())
    return verifySameSizes(op, "out and residual", op.getOuts(),
                           op.getResidual());
  return success();
}

LogicalResult OneDnnOp::verify() {
  if (failed(verifyOperands(*this)) || failed(verifyBuffers(*this)) ||
      failed(verifySizes(*this)))
    return failure();
  const bool isProduct =
      getPrimitive() == "matmul" || getPrimitive() == "batch_matmul";
  if (getActivation() && (getPrimitive() != "matmul" ||
                          !supportsActivation(*getActivation()))) // (5)
    return emitOpError("expects an activation that oneDNN has, in 'matmul', "
                       "got '")
           << StringRef(getActivationName(*getActivation())) << "'";
  if (!isProduct)
    return success();
  for (Value read : {Value(getInput()), getRhs()}) // (6)
    if (read && getStorage(read) == getStorage(getOuts()))
      return emitOpError("expects outs in other memory than the operands");
  return success();
}
