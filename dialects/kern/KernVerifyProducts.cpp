// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of products; numbers are those of the rules in the operations'
// descriptions.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// (1) and (3): the operands that come from the artifact.
static LogicalResult verifyGemmWeights(GemmOp op) {
  WeightType type = op.getWeight().getType();
  Sizes input = getSizes(op.getInput());
  if (type.getShape().size() != 2 || input.empty() ||
      input.back() != Polynomial(type.getShape()[1]))
    return op.emitOpError("expects a weight [n, k] and an input [.., k], got ")
           << text(getSizes(op.getWeight())) << " and " << text(input);
  if (failed(verifyLayout(op, "the weight", op.getWeight(),
                          WeightLayout::Panels32)))
    return failure();
  if (getBufferType(op.getInput()).getElementType() !=
      type.getFormat().getOperandType()) // (9)
    return op.emitOpError("expects input and weight of one type, got ")
           << getBufferType(op.getInput()).getElementType() << " and "
           << type.getFormat().getOperandType();
  if (!op.getBias())
    return success();
  if (failed(verifyVector(op, "a bias", op.getBias(), type.getShape()[0],
                          WeightLayout::Padded32)))
    return failure();
  if (llvm::cast<WeightType>(op.getBias().getType()).getSplits() !=
      type.getSplits())
    return op.emitOpError("expects weight and bias with equal splits");
  return success();
}

/// (2) and (4): what the product writes.
static LogicalResult verifyGemmOuts(GemmOp op) {
  WeightType type = op.getWeight().getType();
  SmallVector<int64_t> splits(type.getSplits());
  if (splits.empty())
    splits.push_back(op.getGlu() ? type.getShape()[0] / 2 : type.getShape()[0]);
  if (op.getOuts().size() != splits.size())
    return op.emitOpError("expects an out for each of ")
           << splits.size() << " splits of the weight, got "
           << op.getOuts().size();
  bool keys = false;
  for (auto [out, split] : llvm::zip(op.getOuts(), splits)) {
    Sizes sizes = getSizes(out);
    if (!(isF32(out) || isBf16(out)) || sizes.empty() ||
        sizes.back() != Polynomial(split))
      return op.emitOpError("expects an out of f32 or bf16 with ")
             << split << " columns, got " << out.getType();
    int64_t longest = getMaxKBlock(type); // (10)
    if (isBf16(out) && type.getShape()[1] > longest)
      return op.emitOpError("expects outs of f32 with k above ") << longest;
    keys |= getBufferType(out).getKeyPanels();
    if (!getBufferType(out).getKeyPanels() &&
        getBufferType(out).getRowCount() !=
            getBufferType(op.getInput()).getRowCount())
      return op.emitOpError("expects outs with the rows of the input, got ")
             << text(sizes) << " and " << text(getSizes(op.getInput()));
  }
  if (keys != bool(op.getRagged()))
    return op.emitOpError("expects ragged exactly where an out is key panels");
  if (keys && (op.getActivation() || op.getResidual() || op.getNormGamma()))
    return op.emitOpError(
        "expects no activation, residual or norm beside key panels");
  return success();
}

/// (6): what the norm reads and writes.
static LogicalResult verifyNormOuts(GemmOp op) {
  Value product = op.getOuts()[0], out = op.getNormOut(),
        rounded = op.getNormOutBf16();
  if (failed(verifyRowsOfF32(op, "the out beside a norm", product)))
    return failure();
  if (out && (failed(verifyRowsOfF32(op, "'norm_out'", out)) ||
              failed(verifySameSizes(op, "out and 'norm_out'", product, out))))
    return failure();
  if (!rounded)
    return success();
  if (!isBf16(rounded) || getBufferType(rounded).getKeyPanels())
    return op.emitOpError("expects rows of bf16 as 'norm_out_bf16', got ")
           << rounded.getType();
  return verifySameSizes(op, "out and 'norm_out_bf16'", product, rounded);
}

/// (5) and (6): the norm of the result.
static LogicalResult verifyGemmNorm(GemmOp op) {
  Value result = op.getNormOut() ? op.getNormOut() : op.getNormOutBf16();
  int given = bool(op.getNormGamma()) + bool(result) +
              bool(op.getNormCounters()) + bool(op.getNormEps());
  if (op.getNormRms() && op.getNormBeta()) // (7)
    return op.emitOpError("expects an 'rms_norm' without beta");
  if (given == 0)
    return op.getNormBeta() ? op.emitOpError("expects no beta without a norm")
                            : success();
  if (given != 4)
    return op.emitOpError("expects 'norm_gamma', 'norm_out' or "
                          "'norm_out_bf16', 'norm_counters' and a norm in the "
                          "epilogue together");
  if (op.getOuts().size() != 1)
    return op.emitOpError("expects a single out beside a norm, got ")
           << op.getOuts().size();
  int64_t width = op.getWeight().getType().getShape()[0];
  if (failed(verifyVector(op, "gamma", op.getNormGamma(), width,
                          WeightLayout::Rows)) ||
      (op.getNormBeta() && failed(verifyVector(op, "beta", op.getNormBeta(),
                                               width, WeightLayout::Rows))) ||
      failed(verifyNormOuts(op)))
    return failure();
  Value counters = op.getNormCounters();
  if (!getBufferType(counters).getElementType().isInteger(64) ||
      product(getSizes(counters)) !=
          getBufferType(op.getOuts()[0]).getRowCount())
    return op.emitOpError("expects an i64 counter for each row, got ")
           << counters.getType();
  return success();
}

/// (11).
static LogicalResult verifyGlu(GemmOp op) {
  if (!op.getGlu())
    return success();
  WeightType type = op.getWeight().getType();
  if (op.getResidual() || op.getNormGamma() || op.getRagged() ||
      op.getOuts().size() != 1 || !type.getSplits().empty())
    return op.emitOpError("expects a single out in rows and no other epilogue "
                          "beside a GLU");
  int64_t longest = getMaxKBlock(type);
  if (type.getShape()[0] % 16 || type.getShape()[1] > longest)
    return op.emitOpError("expects a multiple of 16 rows and k of at most ")
           << longest << " beside a GLU, got "
           << text(getSizes(op.getWeight()));
  return success();
}

LogicalResult GemmOp::verify() {
  if (failed(verifyRowsOfFloat(*this, "the input", getInput())) ||
      failed(verifyGemmWeights(*this)) || failed(verifyGlu(*this)) ||
      failed(verifyGemmOuts(*this)) || failed(verifyGemmNorm(*this)))
    return failure();
  if (getResidual()) { // (5)
    if (getOuts().size() != 1)
      return emitOpError("expects a single out beside a residual, got ")
             << getOuts().size();
    if (failed(verifyRowsOfF32(*this, "a residual", getResidual())) ||
        failed(verifySameSizes(*this, "out and residual", getOuts()[0],
                               getResidual())))
      return failure();
  }
  for (Value out : {getNormOut(), getNormOutBf16()}) // (8)
    if (out && getStorage(out) == getStorage(getInput()))
      return emitOpError("expects a norm in other memory than the input");
  for (Value out : getOuts()) { // (8)
    if (getStorage(out) == getStorage(getInput()))
      return emitOpError("expects outs in other memory than the input");
    int64_t longest = getMaxKBlock(getWeight().getType());
    if (getResidual() && getStorage(out) == getStorage(getResidual()) &&
        (getActivation() || getWeight().getType().getShape()[1] > longest))
      return emitOpError("expects a residual in other memory than the out with "
                         "an activation or k above ")
             << longest;
  }
  return success();
}

LogicalResult BatchMatmulOp::verify() {
  for (Value buffer : {getLhs(), getRhs(), getOuts()}) {
    if (failed(verifyRowsOfF32(*this, "each operand", buffer)))
      return failure();
    if (getBufferType(buffer).getRank() < 2) // (1)
      return emitOpError("expects operands of rank 2 at least, got ")
             << buffer.getType();
  }
  Sizes lhs = getSizes(getLhs()), rhs = getSizes(getRhs()),
        outs = getSizes(getOuts());
  if (lhs.back() != rhs[rhs.size() - 2]) // (2)
    return emitOpError("expects operands that share k, got ")
           << text(lhs) << " and " << text(rhs);
  if (outs.back() != rhs.back() ||
      outs[outs.size() - 2] != lhs[lhs.size() - 2]) // (3)
    return emitOpError("expects outs [.., m, n] of ")
           << text(lhs) << " and " << text(rhs) << ", got " << text(outs);
  for (const Sizes &own : {lhs, rhs}) { // (4)
    bool fits = own.size() <= outs.size();
    for (size_t i = 3; fits && i <= own.size(); ++i)
      fits = own[own.size() - i] == Polynomial(1) ||
             own[own.size() - i] == outs[outs.size() - i];
    if (!fits)
      return emitOpError("expects leading sizes that broadcast to ")
             << text(outs) << ", got " << text(own);
  }
  return success();
}
