// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folds and canonical forms for operations that move elements: identities are
// removed, consecutive operations with the same name are merged, and a slice is
// moved before the transpose and reshape of its input. As a result, a packed
// projection's splits are slices along its last axis.
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

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

/// slice(transpose(x, p)) = transpose(slice(x), p), if all users are slices.
static LogicalResult sliceBeforeTranspose(SliceOp op,
                                          PatternRewriter &rewriter) {
  auto turn = op.getInput().getDefiningOp<TransposeOp>();
  if (!turn || !llvm::all_of(turn->getUsers(), llvm::IsaPred<SliceOp>) ||
      !isa<RankedTensorType>(op.getResult().getType()))
    return failure();
  const int64_t axis = turn.getPermutation()[op.getAxis()];
  SmallVector<Polynomial> dims(getSymbolicShape(turn.getInput().getType()));
  dims[axis] = op.getSize().getPolynomial();
  auto range = rewriter.create<SliceOp>(
      op.getLoc(),
      getTensorType(dims, getElementTypeOrSelf(turn.getInput().getType())),
      turn.getInput(), uint64_t(axis), op.getStart(), op.getSize());
  Location location =
      fuseLocations(op.getContext(), {turn.getLoc(), op.getLoc()});
  auto turned = rewriter.create<TransposeOp>(location, op.getResult().getType(),
                                             range, turn.getPermutation());
  rewriter.replaceOp(op, turned);
  return success();
}

/// Matches a reshape that splits the axis of `from` whose outermost part is the
/// given axis of `to`; the axes before are equal. Returns the number of
/// elements that one step along the new axis skips in the old one; nullopt for
/// other reshapes.
static std::optional<int64_t> getSplitStride(ArrayRef<Polynomial> from,
                                             ArrayRef<Polynomial> to,
                                             size_t axis) {
  if (axis >= from.size() || from.take_front(axis) != to.take_front(axis))
    return std::nullopt;
  const size_t after = from.size() - axis - 1;
  if (to.size() < axis + 1 + after ||
      from.take_back(after) != to.take_back(after))
    return std::nullopt;
  int64_t stride = 1;
  for (const Polynomial &dim : to.drop_front(axis + 1).drop_back(after)) {
    std::optional<int64_t> size = dim.constant();
    if (!size)
      return std::nullopt;
    stride *= *size;
  }
  return from[axis] == to[axis] * Polynomial(stride)
             ? std::optional<int64_t>(stride)
             : std::nullopt;
}

/// slice(reshape(x)) = reshape(slice(x)) if the reshape splits the axis.
static LogicalResult sliceBeforeReshape(SliceOp op, PatternRewriter &rewriter) {
  auto split = op.getInput().getDefiningOp<ReshapeOp>();
  if (!split || !llvm::all_of(split->getUsers(), llvm::IsaPred<SliceOp>) ||
      !isa<RankedTensorType>(op.getResult().getType()) ||
      !isa<RankedTensorType>(split.getInput().getType()))
    return failure();
  SmallVector<Polynomial> dims(getSymbolicShape(split.getInput().getType())),
      to(getSymbolicShape(split.getResult().getType()));
  const auto axis = static_cast<size_t>(op.getAxis());
  std::optional<int64_t> stride = getSplitStride(dims, to, axis);
  if (!stride)
    return failure();
  MLIRContext *context = op.getContext();
  dims[axis] = op.getSize().getPolynomial() * Polynomial(*stride);
  auto range = rewriter.create<SliceOp>(
      op.getLoc(),
      getTensorType(dims, getElementTypeOrSelf(split.getInput().getType())),
      split.getInput(), uint64_t(axis), op.getStart() * uint64_t(*stride),
      SizeAttr::get(context, dims[axis]));
  to[axis] = op.getSize().getPolynomial();
  auto reshaped = rewriter.create<ReshapeOp>(
      fuseLocations(context, {split.getLoc(), op.getLoc()}),
      op.getResult().getType(), range, ShapeAttr::get(context, to));
  rewriter.replaceOp(op, reshaped);
  return success();
}

/// reshape(transpose(x)) = transpose(reshape(x)) if the reshape drops sizes of
/// 1, so that a transpose that only moves such sizes is removed.
static LogicalResult dropUnitsBeforeTranspose(ReshapeOp op,
                                              PatternRewriter &rewriter) {
  auto turn = op.getInput().getDefiningOp<TransposeOp>();
  if (!turn || !turn->hasOneUse() ||
      !isa<RankedTensorType>(op.getResult().getType()))
    return failure();
  SmallVector<Polynomial> from(getSymbolicShape(turn.getResult().getType())),
      to(getSymbolicShape(op.getResult().getType()));

  // Find the remaining axes, in result order.
  const Polynomial one(1);
  SmallVector<int64_t> kept;
  for (auto [dim, axis] : llvm::zip_equal(from, turn.getPermutation()))
    if (kept.size() < to.size() && dim == to[kept.size()])
      kept.push_back(axis);
    else if (dim != one)
      return failure();
  if (kept.size() != to.size() || kept.size() == from.size())
    return failure();

  // Drop the others first, and permute the remaining axes.
  SmallVector<int64_t> order(kept), permutation;
  llvm::sort(order);
  SmallVector<Polynomial> dims;
  const SmallVector<Polynomial> input(
      getSymbolicShape(turn.getInput().getType()));
  for (int64_t axis : order)
    dims.push_back(input[axis]);
  for (int64_t axis : kept)
    permutation.push_back(llvm::find(order, axis) - order.begin());
  MLIRContext *context = op.getContext();
  Location location = fuseLocations(context, {turn.getLoc(), op.getLoc()});
  auto fewer = rewriter.create<ReshapeOp>(
      location,
      getTensorType(dims, getElementTypeOrSelf(op.getResult().getType())),
      turn.getInput(), ShapeAttr::get(context, dims));
  rewriter
      .replaceOpWithNewOp<TransposeOp>(op, op.getResult().getType(), fewer,
                                       permutation)
      ->setLoc(location);
  return success();
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *) {
  patterns.add(mergeTransposes);
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *) {
  patterns.add(mergeReshapes);
  patterns.add(dropUnitsBeforeTranspose);
}

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(sliceBeforeTranspose);
  patterns.add(sliceBeforeReshape);
}

} // namespace transom::attn
