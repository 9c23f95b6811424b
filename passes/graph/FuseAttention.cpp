// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AttentionMatcher recognizes the chain around a softmax; this pass writes it
// as one attn.sdpa at its last matmul. Each softmax is visited once.
#include "passes/Remarks.h"
#include "passes/graph/AttentionMasks.h"
#include "passes/graph/AttentionMatch.h"
#include "passes/graph/Passes.h"
#include <cmath>

#define DEBUG_TYPE "attn-fuse-attention"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_FUSEATTENTIONPASS
#include "passes/graph/Passes.h.inc"

namespace {

/// Writes one attention.
class AttentionWriter {
public:
  AttentionWriter(RewriterBase &rewriter, const AttentionMatch &match);

  /// Replaces the chain; returns the new operation.
  SdpaOp write();

private:
  /// The mask operand and its kind.
  struct Mask {
    MaskKind kind = MaskKind::None;
    Value value;
    FloatAttr maskValue;
  };

  Value writeOperand(const HeadOperand &operand);
  Value lift(Value mask);
  Value writeBool(const MaskLink &link);
  Value joinBools();
  Value joinKeys();
  Value sumAdditive();
  Mask writeMask();
  bool hidesKeysOnly(Value mask);
  void replaceContext(Value flat);

  RewriterBase &rewriter;
  AttentionMatch match;
  Location loc;
};

Location getChainLocation(const AttentionMatch &match) {
  // In execution order, as everywhere: the last operation computes the result.
  SmallVector<Location> locations;
  for (Operation *op : llvm::reverse(match.chain))
    locations.push_back(op->getLoc());
  return fuseLocations(locations.front().getContext(), locations);
}

AttentionWriter::AttentionWriter(RewriterBase &rewriter,
                                 const AttentionMatch &match)
    : rewriter(rewriter), match(match), loc(getChainLocation(match)) {}

/// `[batch, len, heads*d]`.
Value AttentionWriter::writeOperand(const HeadOperand &operand) {
  if (operand.merged)
    return operand.merged;
  Value value = operand.base;
  if (!llvm::is_sorted(operand.order))
    value = createInferred<TransposeOp>(
        rewriter, loc, value, rewriter.getDenseI64ArrayAttr(operand.order));
  return createReshape(rewriter, loc, value,
                       {operand.batch, operand.length,
                        Polynomial(operand.heads * operand.width)});
}

/// Adds the head axis to a mask for `[batch, q, k]` scores.
Value AttentionWriter::lift(Value mask) {
  Dims dims = getDims(mask);
  if (match.query.order.size() == 4 || dims.size() != 3)
    return mask;
  dims.insert(dims.begin() + 1, Polynomial(1));
  return createReshape(rewriter, loc, mask, dims);
}

/// A bool mask, true = attend.
Value AttentionWriter::writeBool(const MaskLink &link) {
  Value mask = lift(link.mask);
  Type i1 = rewriter.getI1Type();
  if (getElementTypeOrSelf(mask) != i1)
    mask = createInferred<CastOp>(rewriter, loc, mask, TypeAttr::get(i1));
  if (link.inverted)
    mask = createInferred<NotOp>(rewriter, loc, mask);
  return mask;
}

/// `[batch, 1, 1, k]`.
bool AttentionWriter::hidesKeysOnly(Value mask) {
  Dims keys = {match.query.batch, Polynomial(1), Polynomial(1),
               match.key.length};
  return getDims(lift(mask)) == keys;
}

/// All bool masks as one `[batch, k]`.
Value AttentionWriter::joinKeys() {
  Value all;
  for (const MaskLink &link : match.masks) {
    Value keys = createReshape(rewriter, loc, writeBool(link),
                               {match.query.batch, match.key.length});
    all = all ? createInferred<AndOp>(rewriter, loc, all, keys).getResult()
              : keys;
  }
  return all;
}

Value AttentionWriter::joinBools() {
  Value all;
  for (const MaskLink &link : match.masks) {
    if (link.kind == MaskLink::Adds)
      continue;
    Value mask = writeBool(link);
    all = all ? createInferred<AndOp>(rewriter, loc, all, mask).getResult()
              : mask;
  }
  return all;
}

Value AttentionWriter::sumAdditive() {
  Value sum;
  for (const MaskLink &link : match.masks) {
    if (link.kind != MaskLink::Adds)
      continue;
    Value mask = lift(link.mask);
    if (link.factor != 1)
      mask = createInferred<ScaleOp>(rewriter, loc, mask,
                                     rewriter.getF64FloatAttr(link.factor),
                                     rewriter.getF64FloatAttr(0));
    sum = sum ? createInferred<AddOp>(rewriter, loc, sum, mask).getResult()
              : mask;
  }
  return sum;
}

AttentionWriter::Mask AttentionWriter::writeMask() {
  Mask mask;
  if (match.masks.empty())
    return mask;
  const MaskLink &first = match.masks.front();
  if (first.kind == MaskLink::HidesWith)
    mask.maskValue = rewriter.getF64FloatAttr(first.value);
  // Masks that hide only keys become one key mask.
  if (llvm::all_of(match.masks, [&](const MaskLink &link) {
        return link.kind != MaskLink::Adds && hidesKeysOnly(link.mask);
      })) {
    mask.kind = MaskKind::Keys;
    mask.value = joinKeys();
    return mask;
  }
  // Otherwise bool masks select scores, or combine with the sum of added masks.
  Value bools = joinBools();
  mask.kind = MaskKind::Select;
  mask.value = bools;
  if (Value sum = sumAdditive()) {
    mask.kind = MaskKind::Additive;
    mask.value = sum;
    if (bools) {
      Value hidden =
          createScalar(rewriter, loc, getElementTypeOrSelf(sum), -INFINITY);
      mask.value = createInferred<WhereOp>(rewriter, loc, bools, sum, hidden);
    }
  }
  return mask;
}

/// Gives all users of the matmul the heads in their original layout; a
/// transpose and reshape that merge them are absorbed.
void AttentionWriter::replaceContext(Value flat) {
  Value context = match.context.getResult();
  if (match.query.order.size() == 3)
    return rewriter.replaceAllUsesWith(context, flat);
  Dims merged = getDims(flat);
  Dims split = {match.query.batch, match.query.length,
                Polynomial(match.query.heads), Polynomial(match.value.width)};
  // Absorb the transpose and reshape that merge the heads.
  for (Operation *user : llvm::make_early_inc_range(context.getUsers())) {
    auto turn = dyn_cast<TransposeOp>(user);
    if (!turn || turn.getPermutation() != ArrayRef<int64_t>({0, 2, 1, 3}))
      continue;
    for (Operation *reader :
         llvm::make_early_inc_range(turn.getResult().getUsers()))
      if (auto merge = dyn_cast<ReshapeOp>(reader))
        if (getDims(merge.getResult()) == merged)
          rewriter.replaceOp(merge, flat);
    if (!turn->use_empty())
      rewriter.replaceAllUsesWith(turn.getResult(),
                                  createReshape(rewriter, loc, flat, split));
    rewriter.eraseOp(turn);
  }
  // Any other user reads the heads.
  Value heads = createReshape(rewriter, loc, flat, split);
  rewriter.replaceAllUsesWith(
      context,
      createInferred<TransposeOp>(rewriter, loc, heads,
                                  rewriter.getDenseI64ArrayAttr({0, 2, 1, 3}))
          .getResult());
}

SdpaOp AttentionWriter::write() {
  rewriter.setInsertionPoint(match.context);
  Value query = writeOperand(match.query), key = writeOperand(match.key),
        value = writeOperand(match.value);
  Mask mask = writeMask();
  // Create the attention with all attributes from the match.
  auto integer = [&](int64_t number) {
    return rewriter.getI64IntegerAttr(number);
  };
  auto sdpa = createInferred<SdpaOp>(
      rewriter, loc, query, key, value, mask.value, Value(), Value(), Value(),
      Value(), Value(), Value(), integer(match.query.heads),
      integer(match.key.heads), rewriter.getF64FloatAttr(match.scale),
      MaskKindAttr::get(rewriter.getContext(), mask.kind),
      match.causal ? rewriter.getUnitAttr() : UnitAttr(), integer(0),
      rewriter.getF64FloatAttr(match.softCap), mask.maskValue, integer(0));
  // Scale the result, and replace the users.
  Value result = sdpa.getResult();
  if (match.resultFactor != 1)
    result = createInferred<ScaleOp>(
        rewriter, loc, result, rewriter.getF64FloatAttr(match.resultFactor),
        rewriter.getF64FloatAttr(0));
  replaceContext(result);
  return sdpa;
}

class FuseAttentionPass
    : public impl::FuseAttentionPassBase<FuseAttentionPass> {
public:
  void runOnOperation() override {
    Remarks remarks(getOperation());
    IRRewriter rewriter(&getContext());
    SmallVector<SoftmaxOp> all;
    getOperation().walk([&](SoftmaxOp op) { all.push_back(op); });
    for (SoftmaxOp op : all)
      runOnSoftmax(op, rewriter, remarks);
    getOperation().walk([&](MatmulOp op) { reportNoSoftmax(op, remarks); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        eraseDeadOps(function.getBody().front());
  }

private:
  void runOnSoftmax(SoftmaxOp op, IRRewriter &rewriter, Remarks &remarks);
  void reportNoSoftmax(MatmulOp op, Remarks &remarks);
};

/// The matmul of two activations from which a value is computed elementwise, or
/// null.
MatmulOp findScores(Value value) {
  const Dims dims = getDims(value);
  llvm::SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size() && i < maxLinks; ++i) {
    Operation *op = open[i].getDefiningOp();
    if (auto product = dyn_cast_or_null<MatmulOp>(op))
      return product;
    auto tokenwise = dyn_cast_or_null<TokenwiseOpInterface>(op);
    if (tokenwise && tokenwise.isElementwise())
      for (Value operand : op->getOperands())
        if (getDims(operand) == dims)
          open.insert(operand);
  }
  return {};
}

/// Reports matmuls whose left operand contains scores for each query and key
/// that no softmax has turned into probabilities.
void FuseAttentionPass::reportNoSoftmax(MatmulOp op, Remarks &remarks) {
  MatmulOp scores = op.getTransposeLhs() ? MatmulOp() : findScores(op.getLhs());
  if (!scores)
    return;
  // Scores grow with the length, or have more columns than the query.
  Dims sizes = getDims(scores.getResult()), lhs = getDims(scores.getLhs());
  std::optional<int64_t>
      keys = sizes.back().constant(),
      inner = lhs[lhs.size() - (scores.getTransposeLhs() ? 2 : 1)].constant();
  if (!inner || (keys && *keys <= *inner))
    return;
  remarks.report(op, {RemarkId::AttentionWithoutSoftmax,
                      {{"product", scores.getOperation()},
                       {"sizes", sizes},
                       {"result", op.getOperation()}}});
}

void FuseAttentionPass::runOnSoftmax(SoftmaxOp op, IRRewriter &rewriter,
                                     Remarks &remarks) {
  // Match, and report the reason for a mismatch.
  AttentionMatcher matcher(op);
  if (failed(matcher.run())) {
    ++refused;
    remarks.report(matcher.getObstacle(), matcher.getReason());
    return;
  }
  // Rewrite, and report properties of the result.
  SdpaOp sdpa = AttentionWriter(rewriter, matcher.result()).write();
  ++fused;
  const AttentionMatch &match = matcher.result();
  remarks.report(sdpa, {RemarkId::AttentionFused,
                        {{"operations", match.chain.size()},
                         {"mask", stringifyMaskKind(sdpa.getMaskKind())},
                         {"causal", sdpa.getCausal() ? "yes" : "no"},
                         {"heads", match.query.heads},
                         {"kv_heads", match.key.heads},
                         {"head_size", match.query.width},
                         {"scale", match.scale}}});
  if (match.softCap)
    remarks.report(sdpa, {RemarkId::SoftCapFused, {{"cap", match.softCap}}});
  if (match.resultFactor != 1)
    remarks.report(sdpa,
                   {RemarkId::FactorMoved, {{"factor", match.resultFactor}}});
  for (const RemarkReason &kept : match.keptTriangles)
    remarks.report(sdpa, kept);
  if (sdpa.getMaskKind() == MaskKind::Additive)
    remarks.report(sdpa,
                   {RemarkId::MaskStaysAdditive, {{"mask", sdpa.getMask()}}});
}

} // namespace
} // namespace transom
