// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations can round an f32 result to bf16 themselves, and how.
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

/// Checks an operation that writes one buffer, which it can only replace.
static bool replacesOut(Value outs, Value out, bool onlyRounded,
                        StringRef refusal, StringRef &reason) {
  if (outs == out && onlyRounded)
    return true;
  reason = refusal;
  return false;
}

bool NormOp::canRoundOutput(Value out, bool, StringRef &reason) {
  if (getOuts() == out && !getOutBf16())
    return true;
  reason = "the norm writes another buffer";
  return false;
}

void NormOp::roundOutput(Value, Value rounded, bool onlyRounded) {
  if (onlyRounded)
    getOutsMutable().assign(rounded);
  else
    getOutBf16Mutable().assign(rounded);
}

bool GemmOp::canRoundOutput(Value out, bool onlyRounded, StringRef &reason) {
  if (getNormOut() == out && !getNormOutBf16())
    return true;
  WeightType weight = getWeight().getType();
  if (!onlyRounded)
    reason = "something else reads the product in f32";
  else if (weight.getShape()[1] > getMaxKBlock(weight))
    reason = "accumulators of a long k wait in the product's result";
  else if (getNormGamma() || !llvm::is_contained(getOuts(), out))
    reason = "the product writes another buffer";
  else
    return true;
  return false;
}

void GemmOp::roundOutput(Value out, Value rounded, bool onlyRounded) {
  if (getNormOut() == out) {
    getNormOutBf16Mutable().assign(rounded);
    if (onlyRounded)
      getNormOutMutable().clear();
    return;
  }
  for (OpOperand &own : getOutsMutable())
    if (own.get() == out) {
      own.set(rounded);
      return;
    }
}

bool AttentionOp::canRoundOutput(Value out, bool onlyRounded,
                                 StringRef &reason) {
  if (!replacesOut(getOuts(), out, onlyRounded,
                   "something else reads the attention's result in f32",
                   reason))
    return false;
  if (llvm::cast<BufferType>(getQuery().getType()).isBf16())
    return true;
  reason = "the attention is in f32";
  return false;
}

bool PoolOp::canRoundOutput(Value out, bool onlyRounded, StringRef &reason) {
  return replacesOut(getOuts(), out, onlyRounded,
                     "something else reads the pooled rows in f32", reason);
}

bool RopeOp::canRoundOutput(Value out, bool onlyRounded, StringRef &reason) {
  return replacesOut(getOuts(), out, onlyRounded,
                     "something else reads the rotated rows in f32", reason);
}

bool ElementwiseOp::canRoundOutput(Value out, bool onlyRounded,
                                   StringRef &reason) {
  return replacesOut(getOuts(), out, onlyRounded,
                     "something else reads the elementwise result in f32",
                     reason);
}

void ElementwiseOp::roundOutput(Value, Value rounded, bool) {
  auto yield = llvm::cast<YieldOp>(getBody().front().back());
  OpBuilder b(yield);
  yield.getValueMutable().assign(
      b.create<arith::TruncFOp>(getLoc(), b.getBF16Type(), yield.getValue()));
  getOutsMutable().assign(rounded);
}
