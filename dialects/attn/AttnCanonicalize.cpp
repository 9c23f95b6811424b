// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds and canonical forms of transpose and reshape: identities vanish,
// chains of one kind become one operation.
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace transom::attn {

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  for (auto [index, from] : llvm::enumerate(getPermutation()))
    if (static_cast<int64_t>(index) != from)
      return {};
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() &&
                 isa<RankedTensorType>(getResult().getType())
             ? getInput()
             : Value();
}

/// transpose(transpose(x, p), q) = transpose(x, p[q]).
static LogicalResult mergeTransposes(TransposeOp op,
                                     PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<TransposeOp>();
  if (!inner)
    return failure();
  SmallVector<int64_t> permutation;
  for (int64_t from : op.getPermutation())
    permutation.push_back(inner.getPermutation()[from]);
  Location location =
      fuseLocations(op.getContext(), {inner.getLoc(), op.getLoc()});
  auto merged = rewriter.create<TransposeOp>(location, op.getResult().getType(),
                                             inner.getInput(), permutation);
  rewriter.replaceOp(op, merged);
  return success();
}

/// reshape(reshape(x)) = reshape(x).
static LogicalResult mergeReshapes(ReshapeOp op, PatternRewriter &rewriter) {
  auto inner = op.getInput().getDefiningOp<ReshapeOp>();
  if (!inner)
    return failure();
  Location location =
      fuseLocations(op.getContext(), {inner.getLoc(), op.getLoc()});
  auto merged = rewriter.create<ReshapeOp>(location, op.getResult().getType(),
                                           inner.getInput(), op.getShape());
  rewriter.replaceOp(op, merged);
  return success();
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(mergeTransposes);
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(mergeReshapes);
}

} // namespace transom::attn
