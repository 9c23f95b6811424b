// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `kern.onednn`: reads, writes and verifier; constraint numbers refer to the op
// description.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

/// Max rank of a call's tensors.
static constexpr int64_t kMaxRank = 8;

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

/// The same as for the operations that it replaces.
Polynomial OneDnnOp::flops() {
  Polynomial elements = product(getSizes(getOuts()));
  if (getPrimitive() == OneDnnPrimitive::Softmax)
    return Polynomial(10) * elements;
  if (getPrimitive() == OneDnnPrimitive::LayerNorm)
    return Polynomial(8) * elements;
  return Polynomial(2) * elements * getSizes(getInput()).back();
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Constraints 1 to 4: operands that the primitive has.
static LogicalResult verifyOperands(OneDnnOp op) {
  const OneDnnPrimitive primitive = op.getPrimitive();
  const bool weighted = primitive == OneDnnPrimitive::Matmul ||
                        primitive == OneDnnPrimitive::LayerNorm;
  const size_t weights = op.getWeights().size();
  if (weighted ? weights < 1 || weights > 2 : weights != 0)
    return Constraint{op, 1}.expects()
           << (weighted ? "one or two weights" : "no weight") << ", got "
           << weights;
  if (bool(op.getRhs()) != (primitive == OneDnnPrimitive::BatchMatmul))
    return Constraint{op, 2}.expects() << "an rhs exactly in 'batch_matmul'";
  if (op.getResidual() && primitive != OneDnnPrimitive::Matmul)
    return Constraint{op, 3}.expects() << "a residual in 'matmul' only";
  if (bool(op.getEps()) != (primitive == OneDnnPrimitive::LayerNorm))
    return Constraint{op, 4}.expects() << "'eps' exactly in 'layer_norm'";
  return success();
}

/// Constraint 5.
static LogicalResult verifyBuffers(OneDnnOp op) {
  SmallVector<Value> buffers = op.readBuffers();
  buffers.push_back(op.getOuts());
  for (Value buffer : buffers)
    if (!isF32(buffer) || !isDense(buffer) ||
        getBufferType(buffer).getRank() < 1 ||
        getBufferType(buffer).getRank() > kMaxRank)
      return Constraint{op, 5}.expects()
             << "dense buffers of f32 with 1 to 8 sizes, "
                "got "
             << buffer.getType();
  return success();
}

/// Constraints 6 and 7: weights with these shapes, in rows.
static LogicalResult verifyWeights(OneDnnOp op, ArrayRef<Polynomial> first,
                                   const Polynomial &columns) {
  for (auto [i, weight] : llvm::enumerate(op.getWeights())) {
    auto type = llvm::cast<WeightType>(weight.getType());
    Sizes expected = i == 0 ? Sizes(first) : Sizes{columns};
    if (getSizes(weight) != expected || !type.getElementType().isF32() ||
        !type.getSplits().empty())
      return Constraint{op, 6}.expects() << "a weight of f32 " << text(expected)
                                         << " without splits, got " << type;
    if (failed(verifyLayout({op, 7}, "a weight", weight, WeightLayout::Rows)))
      return failure();
  }
  return success();
}

/// Constraints 10 and 11: a matmul with two activations.
static LogicalResult verifyBatchMatmul(OneDnnOp op) {
  Sizes lhs = getSizes(op.getInput()), rhs = getSizes(op.getRhs()),
        outs = getSizes(op.getOuts());
  if (lhs.size() < 2 || rhs.size() < 2 || lhs.size() > outs.size() ||
      rhs.size() > outs.size() || lhs.back() != rhs[rhs.size() - 2] ||
      outs.back() != rhs.back() || outs[outs.size() - 2] != lhs[lhs.size() - 2])
    return Constraint{op, 10}.expects()
           << "outs [.., m, n] of [.., m, k] and "
              "[.., k, n], got "
           << text(outs) << " of " << text(lhs) << " and " << text(rhs);
  for (const Sizes &own : {lhs, rhs})
    for (size_t i = 3; i <= own.size(); ++i)
      if (own[own.size() - i] != Polynomial(1) &&
          own[own.size() - i] != outs[outs.size() - i])
        return Constraint{op, 11}.expects()
               << "leading sizes that broadcast to " << text(outs) << ", got "
               << text(own);
  return success();
}

/// Constraints 6 to 11.
static LogicalResult verifySizes(OneDnnOp op) {
  Sizes input = getSizes(op.getInput()), outs = getSizes(op.getOuts());
  if (op.getPrimitive() == OneDnnPrimitive::BatchMatmul)
    return verifyBatchMatmul(op);
  if (op.getPrimitive() != OneDnnPrimitive::Matmul) {
    if (failed(verifySameSizes({op, 8}, "input and outs", op.getInput(),
                               op.getOuts())))
      return failure();
    return verifyWeights(op, {outs.back()}, outs.back());
  }
  if (failed(verifyWeights(op, {outs.back(), input.back()}, outs.back())))
    return failure();
  if (getBufferType(op.getInput()).getRowCount() !=
      getBufferType(op.getOuts()).getRowCount())
    return Constraint{op, 9}.expects() << "input and outs of equal rows, got "
                                       << text(input) << " and " << text(outs);
  if (op.getResidual())
    return verifySameSizes({op, 8}, "out and residual", op.getOuts(),
                           op.getResidual());
  return success();
}

LogicalResult OneDnnOp::verify() {
  if (failed(verifyOperands(*this)) || failed(verifyBuffers(*this)) ||
      failed(verifySizes(*this)))
    return failure();
  const bool isProduct = getPrimitive() == OneDnnPrimitive::Matmul ||
                         getPrimitive() == OneDnnPrimitive::BatchMatmul;
  if (getActivation() && (getPrimitive() != OneDnnPrimitive::Matmul ||
                          !supportsActivation(*getActivation())))
    return Constraint{*this, 12}.expects()
           << "an activation that oneDNN has, in 'matmul', "
              "got '"
           << StringRef(getActivationName(*getActivation())) << "'";
  if (!isProduct)
    return success();
  for (Value read : {Value(getInput()), getRhs()})
    if (read && getStorage(read) == getStorage(getOuts()))
      return Constraint{*this, 13}.expects()
             << "outs in other memory than the operands";
  return success();
}
