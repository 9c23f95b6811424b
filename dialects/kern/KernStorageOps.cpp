// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers for weights, buffers and ragged batches; constraint numbers refer
// to the op descriptions.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

LogicalResult WeightOp::verify() {
  if (std::optional<uint64_t> offset = getOffset();
      offset && (int64_t(*offset) < 0 || *offset % 4))
    return Constraint{*this, 1}.expects()
           << "an offset that is a multiple of 4, got " << int64_t(*offset);
  return success();
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return Constraint{*this, 1}.expects()
           << "'" << getWeight() << "' to be a 'kern.weight'";
  if (weight.getType() != getType())
    return Constraint{*this, 2}.expects()
           << "the weight's type " << weight.getType() << ", got " << getType();
  return success();
}

LogicalResult AllocOp::verify() {
  if (std::optional<uint64_t> slot = getSlot(); slot && int64_t(*slot) < 0)
    return Constraint{*this, 1}.expects()
           << "a slot that is not negative, got " << int64_t(*slot);
  return success();
}

bool AllocOp::isKept() {
  return llvm::any_of(getResult().getUsers(), [&](Operation *user) {
    auto gemm = llvm::dyn_cast<GemmOp>(user);
    return gemm && gemm.getPanels() == getResult();
  });
}

LogicalResult ViewOp::verify() {
  if (failed(verifySameElements({*this, 1}, "source and result", getSource(),
                                getResult())))
    return failure();
  Sizes from = getSizes(getSource()), to = getSizes(getResult());
  if (product(from) != product(to))
    return Constraint{*this, 2}.expects() << "equally many elements, got "
                                          << text(from) << " and " << text(to);
  if (!isDense(getSource()) || !isDense(getResult()))
    return Constraint{*this, 3}.expects() << "dense buffers";
  return success();
}

LogicalResult RaggedBatchOp::verify() {
  if (!getMask()) {
    if (failed(verifySize({*this, 1}, "batch", getBatch())) ||
        failed(verifySize({*this, 1}, "columns", getColumns())))
      return failure();
    if (getKeepFirst())
      return Constraint{*this, 2}.expects() << "a mask beside 'keep_first'";
  } else {
    Type element = getBufferType(getMask()).getElementType();
    if (getBufferType(getMask()).getRank() != 2 ||
        !(element.isInteger(64) || element.isInteger(1)))
      return Constraint{*this, 3}.expects()
             << "a mask [batch, columns] of i64 or i1, got "
             << getMask().getType();
  }
  if (getRows().empty() || getKeys().empty())
    return Constraint{*this, 4}.expects() << "names for 'rows' and 'keys'";
  return success();
}
