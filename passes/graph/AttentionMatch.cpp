// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A match starts at the softmax: it goes forward to the matmul with the value,
// back to the matmul with query and key, and from each operand back to the
// split into heads.
#include "passes/graph/AttentionMatch.h"
#include "passes/graph/AttentionMasks.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace transom::attn;

namespace transom {

LogicalResult AttentionMatcher::fail(RemarkId id,
                                     std::vector<RemarkArgument> args,
                                     Operation *op) {
  reason.emplace(id, std::move(args));
  obstacle = op;
  return failure();
}

LogicalResult AttentionMatcher::run() {
  if (failed(matchProbabilities()) || failed(matchScores()) ||
      failed(matchOperands()))
    return failure();
  matchCausalMask();
  return checkMasks();
}

static bool isFloatCast(CastOp op) {
  return isa<FloatType>(getElementTypeOrSelf(op.getInput())) &&
         isa<FloatType>(op.getTo());
}

LogicalResult AttentionMatcher::matchProbabilities() {
  Value probabilities = match.softmax.getResult();
  // Follow the only user to the matmul with the value.
  for (int links = 0; links < maxLinks; ++links) {
    if (!probabilities.hasOneUse())
      return fail(RemarkId::ProbabilitiesHaveOtherReader,
                  {{"readers", getReaders(probabilities)}});
    Operation *user = *probabilities.user_begin();
    match.chain.push_back(user);
    if (auto cast = dyn_cast<CastOp>(user); cast && isFloatCast(cast)) {
      probabilities = cast.getResult();
      continue;
    }
    // A constant factor also applies to the result.
    Value input;
    if (auto factor = constantFactor(user, input);
        factor && input == probabilities && std::isfinite(*factor) &&
        *factor != 0) {
      match.resultFactor *= *factor;
      probabilities = user->getResult(0);
      continue;
    }
    if (isa<TransposeOp>(user))
      return fail(RemarkId::ProbabilitiesAreTransposed, {{"product", user}},
                  user);
    match.context = dyn_cast<MatmulOp>(user);
    if (Value mask = findMaskOfProbabilities(user, probabilities))
      return fail(RemarkId::ProbabilitiesAreMasked,
                  {{"operation", user}, {"mask", mask}}, user);
    if (!match.context)
      return fail(RemarkId::OperationAfterSoftmax, {{"operation", user}}, user);
    if (match.context.getLhs() != probabilities)
      return fail(RemarkId::ProbabilitiesOnTheRight, {{"product", user}}, user);
    if (match.context.getTransposeLhs())
      return fail(RemarkId::ProbabilitiesAreTransposed, {{"product", user}},
                  user);
    return success();
  }
  return fail(RemarkId::ChainAfterSoftmaxIsLong, {{"limit", maxLinks}});
}

LogicalResult AttentionMatcher::matchScores() {
  match.chain.push_back(match.softmax);
  Value scores = match.softmax.getInput();
  double factor = 1;
  // Follow the operand to the matmul with query and key.
  for (int links = 0; links < maxLinks; ++links) {
    Operation *op = scores.getDefiningOp();
    if (!op)
      return fail(RemarkId::ScoresAreNotAProduct, {{"scores", scores}});
    if (!scores.hasOneUse())
      return fail(RemarkId::ScoresHaveOtherReader,
                  {{"scores", op}, {"readers", getReaders(scores)}});
    match.chain.push_back(op);
    match.scores = dyn_cast<MatmulOp>(op);
    if (match.scores) {
      match.scale = match.softCap ? factor * match.softCap : factor;
      std::reverse(match.masks.begin(), match.masks.end());
      return success();
    }
    if (failed(matchLink(op, scores, factor)))
      return failure();
    if (getDims(scores) != getDims(op->getResult(0)))
      return fail(RemarkId::MaskEnlargesScores,
                  {{"operation", op},
                   {"scores", getDims(scores)},
                   {"result", getDims(op->getResult(0))}},
                  op);
  }
  return fail(RemarkId::ChainBeforeSoftmaxIsLong, {{"limit", maxLinks}});
}

static bool leadsToProduct(Value value, int depth = 0);

/// Goes one operation back: `scores` becomes its operand.
LogicalResult AttentionMatcher::matchLink(Operation *op, Value &scores,
                                          double &factor) {
  if (auto scale = constantFactor(op, scores)) {
    factor *= *scale;
    if (!std::isfinite(factor) || factor == 0)
      return fail(RemarkId::ScaleIsNotFinite, {{"scale", factor}});
    return success();
  }
  if (match.softCap && isa<AddOp, MaskOp, WhereOp>(op))
    return fail(RemarkId::MaskInsideSoftCap, {{"operation", op}}, op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ActivationOp activation) {
        return matchSoftCap(activation, scores, factor);
      })
      .Case([&](CastOp cast) {
        scores = cast.getInput();
        if (isFloatCast(cast))
          return success();
        return fail(RemarkId::ScoresAreNotFloats,
                    {{"operation", op},
                     {"from", getElementTypeOrSelf(cast.getInput())},
                     {"to", cast.getTo()}},
                    op);
      })
      .Case([&](AddOp add) { return matchAdd(add, scores, factor); })
      .Case([&](MaskOp mask) {
        scores = mask.getScores();
        double value = mask.getValue().convertToDouble();
        return matchMask(mask.getMask(), false, value * factor);
      })
      .Case([&](WhereOp where) { return matchWhere(where, scores, factor); })
      .Case([&](ScaleOp scale) {
        return fail(RemarkId::ScoresHaveOffset,
                    {{"operation", op},
                     {"offset", scale.getOffset().convertToDouble()}},
                    op);
      })
      .Case<MulOp, DivOp>([&](auto) {
        // The factor is the operand that does not lead to the matmul.
        const bool isSwapped = leadsToProduct(op->getOperand(1)) &&
                               !leadsToProduct(op->getOperand(0));
        return fail(
            RemarkId::ScaleIsNotConstant,
            {{"operation", op}, {"factor", op->getOperand(isSwapped ? 0 : 1)}},
            op);
      })
      .Default([&](Operation *) {
        return fail(RemarkId::OperationBeforeSoftmax, {{"operation", op}}, op);
      });
}

/// `c * tanh(x)` caps the scores s = c x: it equals c tanh(s / c).
LogicalResult AttentionMatcher::matchSoftCap(ActivationOp op, Value &scores,
                                             double &factor) {
  if (op.getKind() != Activation::Tanh || match.softCap || factor < 0)
    return fail(RemarkId::OperationBeforeSoftmax,
                {{"operation", op.getOperation()}}, op);
  match.softCap = factor;
  factor = 1;
  scores = op.getInput();
  return success();
}

/// True if a chain of links leads from a value back to a matmul.
static bool leadsToProduct(Value value, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxLinks)
    return false;
  if (isa<MatmulOp>(op))
    return true;
  if (isa<ActivationOp, CastOp, ScaleOp, MaskOp, DivOp>(op))
    return leadsToProduct(op->getOperand(0), depth + 1);
  if (isa<AddOp, MulOp>(op))
    return leadsToProduct(op->getOperand(0), depth + maxLinks / 4) ||
           leadsToProduct(op->getOperand(1), depth + maxLinks / 4);
  if (auto where = dyn_cast<WhereOp>(op))
    return leadsToProduct(constantNumber(where.getOnTrue()) ? where.getOnFalse()
                                                            : where.getOnTrue(),
                          depth + 1);
  return false;
}

LogicalResult AttentionMatcher::matchAdd(AddOp op, Value &scores,
                                         double factor) {
  Value mask = op.getRhs();
  scores = op.getLhs();
  auto fits = [&](Value value) {
    return getDims(value) == getDims(op.getResult()) && leadsToProduct(value);
  };
  if (!fits(scores) && fits(mask))
    std::swap(scores, mask);
  std::optional<MaskLink> link = additiveAsBool(mask, factor);
  if (!link || link->kind != MaskLink::Hides) {
    link = MaskLink(); // an added finite value is data
    link->mask = mask;
    link->factor = factor;
  }
  match.masks.push_back(*link);
  return success();
}

LogicalResult AttentionMatcher::matchMask(Value mask, bool inverted,
                                          double value) {
  if (std::isnan(value) || value == INFINITY)
    return fail(RemarkId::MaskShowsHiddenScores, {{"value", value}});
  match.masks.push_back(hidingMask(mask, inverted, value));
  return success();
}

LogicalResult AttentionMatcher::matchWhere(WhereOp op, Value &scores,
                                           double factor) {
  std::optional<double> number = constantNumber(op.getOnFalse());
  scores = op.getOnTrue();
  bool inverted = !number;
  if (inverted) {
    number = constantNumber(op.getOnTrue());
    scores = op.getOnFalse();
  }
  if (!number)
    return fail(RemarkId::MaskedValueIsNotConstant,
                {{"operation", op.getOperation()},
                 {"on_true", op.getOnTrue()},
                 {"on_false", op.getOnFalse()}},
                op);
  return matchMask(op.getCondition(), inverted, *number * factor);
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

/// Skips constant factors and returns them multiplied.
static double followScales(Value &value) {
  double scale = 1;
  for (int links = 0; links < maxLinks && value.getDefiningOp(); ++links) {
    std::optional<double> factor = constantFactor(value.getDefiningOp(), value);
    if (!factor)
      break;
    scale *= *factor;
  }
  return scale;
}

/// Undoes a head repeat: if `[.., heads, ..]` is a reshape of n equal copies
/// `[.., kv, 1, ..]` side by side, returns `[.., kv, ..]`, whose head h / n is
/// head h. Null otherwise.
static Value unrepeatedHeads(Value value, int64_t axis) {
  auto merge = value.getDefiningOp<ReshapeOp>();
  auto copies = merge ? merge.getInput().getDefiningOp<ConcatOp>() : ConcatOp();
  if (!copies || static_cast<int64_t>(copies.getAxis()) != axis + 1 ||
      !llvm::all_equal(copies.getInputs()))
    return {};
  Dims split = getDims(copies.getResult()), merged = getDims(value);
  Dims copy = getDims(copies.getInputs().front());
  split[axis] = split[axis] * split[axis + 1];
  split.erase(split.begin() + axis + 1);
  // Without the axis of size 1, a copy has the sizes that it had before.
  auto widen = copies.getInputs().front().getDefiningOp<ReshapeOp>();
  copy.erase(copy.begin() + axis + 1);
  if (split != merged || !widen || getDims(widen.getInput()) != copy)
    return {};
  return widen.getInput();
}

/// Traces an operand back through transposes, head repeats and constant
/// factors, and determines the meaning of each axis.
LogicalResult AttentionMatcher::matchHeads(Value operand, bool swapped,
                                           HeadOperand &heads) {
  // Start from the axes of the matmul operand: batch, len, [heads,] d.
  size_t rank = getDims(operand).size();
  if (rank != 3 && rank != 4)
    return fail(
        RemarkId::OperandRankUnsupported,
        {{"operand", heads.name}, {"sizes", getDims(operand)}, {"rank", rank}});
  int64_t last = rank - 1;
  heads.order = {0, last - 1, last};
  if (swapped)
    std::swap(heads.order[1], heads.order[2]);
  if (rank == 4)
    heads.order.insert(heads.order.begin() + 2, 1);

  // Follow transposes and repeats to the base, and permute the axes.
  heads.base = operand;
  for (int links = 0; links < maxLinks; ++links) {
    heads.scale *= followScales(heads.base);
    auto transpose = heads.base.getDefiningOp<TransposeOp>();
    if (!transpose) {
      Value fewer =
          rank == 4 ? unrepeatedHeads(heads.base, heads.order[2]) : Value();
      if (!fewer)
        break;
      heads.base = fewer;
      continue;
    }
    for (int64_t &axis : heads.order)
      axis = transpose.getPermutation()[axis];
    heads.base = transpose.getInput();
  }

  // Read the sizes from the base.
  Dims dims = getDims(heads.base);
  heads.batch = dims[heads.order[0]];
  heads.length = dims[heads.order[1]];
  auto width = dims[heads.order.back()].constant();
  auto count = rank == 4 ? dims[heads.order[2]].constant() : 1;
  if (!width || !count)
    return fail(RemarkId::HeadsAreSymbolic,
                {{"operand", heads.name},
                 {"heads", rank == 4 ? dims[heads.order[2]] : Polynomial(1)},
                 {"head_size", dims[heads.order.back()]}});
  heads.width = *width;
  heads.heads = *count;

  // Skip the reshape that splits the heads, if the axes are in order.
  auto split = heads.base.getDefiningOp<ReshapeOp>();
  bool inOrder = llvm::is_sorted(heads.order);
  Dims flat = {heads.batch, heads.length, Polynomial(*count * *width)};
  if (rank == 4 && split && inOrder && getDims(split.getInput()) == flat) {
    heads.merged = split.getInput();
    heads.scale *= followScales(heads.merged);
  }
  return success();
}

LogicalResult AttentionMatcher::matchOperands() {
  MatmulOp scores = match.scores, context = match.context;
  if (failed(
          matchHeads(scores.getLhs(), scores.getTransposeLhs(), match.query)) ||
      failed(
          matchHeads(scores.getRhs(), !scores.getTransposeRhs(), match.key)) ||
      failed(
          matchHeads(context.getRhs(), context.getTransposeRhs(), match.value)))
    return failure();

  // Check that the three operands match.
  const HeadOperand &query = match.query, &key = match.key,
                    &value = match.value;
  if (query.order.size() != key.order.size() ||
      query.order.size() != value.order.size())
    return fail(RemarkId::OperandRanksDiffer, {{"query", query.order.size()},
                                               {"key", key.order.size()},
                                               {"value", value.order.size()}});
  if (query.batch != key.batch || query.batch != value.batch)
    return fail(
        RemarkId::OperandBatchesDiffer,
        {{"query", query.batch}, {"key", key.batch}, {"value", value.batch}});
  if (key.heads != value.heads || query.heads % key.heads != 0)
    return fail(
        RemarkId::HeadCountsDiffer,
        {{"query", query.heads}, {"key", key.heads}, {"value", value.heads}});
  assert(key.length == value.length && "the inner size of a product");
  Type element = getElementTypeOrSelf(query.base);
  if (getElementTypeOrSelf(key.base) != element ||
      getElementTypeOrSelf(value.base) != element ||
      getElementTypeOrSelf(context.getResult()) != element)
    return fail(RemarkId::OperandTypesDiffer,
                {{"query", element},
                 {"key", getElementTypeOrSelf(key.base)},
                 {"value", getElementTypeOrSelf(value.base)},
                 {"result", getElementTypeOrSelf(context.getResult())}});

  // The factors on query and key are part of the score scale; the factor on the
  // value scales the result.
  match.scale *= query.scale * key.scale;
  match.resultFactor *= value.scale;
  if (!std::isfinite(match.scale) || !std::isfinite(match.resultFactor))
    return fail(RemarkId::ScaleIsNotFinite, {{"scale", match.scale}});
  return success();
}

/// A mask is nearly causal if at most one in this many elements differs.
static constexpr int64_t nearlyCausal = 5;

/// Replaces masks that hide the keys after each query by `causal`, if the query
/// and key counts are equal.
void AttentionMatcher::matchCausalMask() {
  if (match.query.length != match.key.length)
    return;
  // A value that replaces hidden scores later also replaces the scores that the
  // causal mask has hidden.
  const MaskLink *lastNumber = nullptr;
  for (const MaskLink &link : match.masks)
    if (link.kind == MaskLink::HidesWith)
      lastNumber = &link;
  SmallVector<MaskLink> kept;
  for (const MaskLink &link : match.masks) {
    if (lastNumber && &link < lastNumber) {
      kept.push_back(link);
      continue;
    }
    SmallVector<MaskLink> masks = splitMask(link);
    const size_t before = masks.size();
    llvm::erase_if(masks,
                   [&](const MaskLink &mask) { return isCausalMask(mask); });
    if (masks.size() == before)
      masks = {link};
    else
      match.causal = true;
    kept.append(masks);
  }
  match.masks = std::move(kept);
}

/// Whether a mask hides the keys after each query with minus infinity. A mask
/// that differs slightly is recorded with the reason.
bool AttentionMatcher::isCausalMask(const MaskLink &link) {
  // Compare a mask of queries and keys with a causal mask.
  Dims dims = getDims(link.mask);
  if (dims.size() < 2 || dims.back() != match.key.length ||
      dims[dims.size() - 2] != match.query.length)
    return false;
  std::optional<TriangleDifference> difference = compareWithTriangle(link);
  if (!difference)
    return false;
  // Record masks that are causal except for their values or a few elements.
  RemarkArgument mask("mask", link.mask);
  if (difference->wrong == 0 && difference->hidesWith)
    match.keptTriangles.emplace_back(
        RemarkId::CausalMaskHidesWithNumber,
        std::vector<RemarkArgument>{mask, {"value", *difference->hidesWith}});
  else if (difference->wrong > 0 &&
           difference->wrong <= difference->entries / nearlyCausal)
    match.keptTriangles.emplace_back(
        RemarkId::MaskIsNearlyCausal,
        std::vector<RemarkArgument>{
            mask,
            {"wrong", difference->wrong},
            {"entries", difference->entries},
            {"row", difference->row},
            {"column", difference->column},
            {"difference", difference->column > difference->row
                               ? "shows a key after its query"
                               : "hides a key that is not after its query"}});
  return difference->wrong == 0 && !difference->hidesWith;
}

/// Describes a mask, for a remark.
static std::string describeMask(const MaskLink &link) {
  if (link.kind == MaskLink::Adds)
    return "another is added from " + getRemarkText(link.mask);
  return "another hides with " + (link.kind == MaskLink::HidesWith
                                      ? getRemarkText(link.value)
                                      : std::string("minus infinity"));
}

/// A finite masked value cannot be combined with other masks, except masks with
/// the same value.
LogicalResult AttentionMatcher::checkMasks() {
  const MaskLink *finite = llvm::find_if(match.masks, [](const MaskLink &link) {
    return link.kind == MaskLink::HidesWith;
  });
  if (finite == match.masks.end())
    return success();
  for (const MaskLink &link : match.masks)
    if (link.kind != MaskLink::HidesWith || link.value != finite->value)
      return fail(RemarkId::FiniteMaskedValueBesideMask,
                  {{"value", finite->value}, {"other", describeMask(link)}});
  return success();
}

} // namespace transom
