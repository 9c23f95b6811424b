// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Traces a numeric mask back to the bool mask that it is computed from, or to a
// constant whose elements show which keys are hidden.
#include "passes/graph/AttentionMasks.h"
#include "passes/graph/ConstantElements.h"
#include <cmath>

using namespace mlir;
using namespace transom::attn;

namespace transom {

/// A finite value this low hides like minus infinity.
static constexpr double hidingValue = -1e30;

std::optional<double> constantFactor(Operation *op, Value &input) {
  if (auto scale = dyn_cast<ScaleOp>(op)) {
    if (!scale.getOffset().isZero())
      return std::nullopt;
    input = scale.getInput();
    return scale.getFactor().convertToDouble();
  }
  bool divides = isa<DivOp>(op);
  if (!divides && !isa<MulOp>(op))
    return std::nullopt;
  for (int side : {1, 0}) {
    std::optional<double> number = constantNumber(op->getOperand(side));
    if (!number || (divides && side == 0))
      continue;
    // A constant that broadcasts the operand is more than a factor.
    Value other = op->getOperand(1 - side);
    if (getDims(other) != getDims(op->getResult(0)))
      return std::nullopt;
    input = other;
    return divides ? 1 / *number : *number;
  }
  return std::nullopt;
}

MaskLink hidingMask(Value mask, bool inverted, double value) {
  MaskLink link;
  link.kind = value <= hidingValue ? MaskLink::Hides : MaskLink::HidesWith;
  link.mask = mask;
  link.inverted = inverted;
  link.value = value;
  return link;
}

/// True for bools and for a mask argument with 0 and 1.
static bool isZeroOrOne(Value value) {
  if (getElementTypeOrSelf(value).isInteger(1))
    return true;
  for (int depth = 0; depth < maxLinks; ++depth) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto function =
          dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
      auto role = function ? function.getArgAttrOfType<StringAttr>(
                                 argument.getArgNumber(), "attn.role")
                           : StringAttr();
      return role && role == "mask";
    }
    if (!isa<ReshapeOp, TransposeOp, CastOp>(value.getDefiningOp()))
      return false;
    value = value.getDefiningOp()->getOperand(0);
  }
  return false;
}

/// `factor * mask + offset` for a mask with 0 and 1.
struct AffineMask {
  Value mask;
  double factor = 1, offset = 0;
};

/// Nested products are followed to this depth, so up to 2^maxProducts factors.
static constexpr int maxProducts = 4;

static bool isMaskFactor(Value factor, int products = 0);

static std::optional<AffineMask> affineMask(Value value, int depth = 0,
                                            int products = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxLinks)
    // Bool masks and 0/1 products.
    return std::nullopt;
  if (isa<MulOp>(op) && products < maxProducts &&
      isMaskFactor(op->getOperand(0), products + 1) &&
      isMaskFactor(op->getOperand(1), products + 1))
    return AffineMask{value};
  if (auto cast = dyn_cast<CastOp>(op)) {
    if (isZeroOrOne(cast.getInput()))
      return AffineMask{cast.getInput()};
    return std::nullopt;
  }

  // One operation of the form `factor * input + offset`.
  double factor = 1, offset = 0;
  Value input;
  if (auto scale = dyn_cast<ScaleOp>(op)) {
    input = scale.getInput();
    factor = scale.getFactor().convertToDouble();
    offset = scale.getOffset().convertToDouble();
  } else if (auto sub = dyn_cast<SubOp>(op)) { // 1 - mask
    std::optional<double> number = constantNumber(sub.getLhs());
    if (!number)
      return std::nullopt;
    input = sub.getRhs();
    factor = -1;
    offset = *number;
  } else if (auto constant = constantFactor(op, input)) {
    factor = *constant;
  } else {
    return std::nullopt;
  }

  // Insert the affine form of `input`.
  auto inner = affineMask(input, depth + 1, products);
  if (!inner || getDims(input) != getDims(value))
    return std::nullopt;
  return AffineMask{inner->mask, inner->factor * factor,
                    inner->offset * factor + offset};
}

std::optional<MaskLink> additiveAsBool(Value value, double factor) {
  if (auto where = value.getDefiningOp<WhereOp>()) {
    std::optional<double> a = constantNumber(where.getOnTrue());
    std::optional<double> b = constantNumber(where.getOnFalse());
    if (!a || !b || getDims(where.getCondition()) != getDims(value))
      return std::nullopt;
    if (*a == 0)
      return hidingMask(where.getCondition(), false, *b * factor);
    if (*b == 0)
      return hidingMask(where.getCondition(), true, *a * factor);
    return std::nullopt;
  }

  // If the sum is 0 for one mask value, the other mask value hides.
  auto affine = affineMask(value);
  if (!affine || !std::isfinite(affine->factor) ||
      !std::isfinite(affine->offset))
    return std::nullopt;
  if (affine->factor + affine->offset == 0)
    return hidingMask(affine->mask, false, affine->offset * factor);
  if (affine->offset == 0)
    return hidingMask(affine->mask, true, affine->factor * factor);
  return std::nullopt;
}

/// True for a factor whose elements are all 0 or 1.
static bool isMaskFactor(Value factor, int products) {
  auto isBit = [](double number) { return number == 0 || number == 1; };
  if (std::optional<ConstantElements> elements = getConstantElements(factor))
    return llvm::all_of(elements->numbers, isBit);
  while (Operation *op = factor.getDefiningOp()) {
    if (isZeroOrOne(factor))
      return true;
    if (auto affine = affineMask(factor, 0, products))
      return isBit(affine->offset) && isBit(affine->factor + affine->offset);
    if (auto where = dyn_cast<WhereOp>(op))
      return isBit(constantNumber(where.getOnTrue()).value_or(-1)) &&
             isBit(constantNumber(where.getOnFalse()).value_or(-1));
    if (!isa<ReshapeOp, TransposeOp>(op))
      return false;
    factor = op->getOperand(0);
  }
  return isZeroOrOne(factor);
}

Value findMaskOfProbabilities(Operation *op, Value probabilities) {
  if (auto mask = dyn_cast<MaskOp>(op))
    return mask.getValue().isZero() ? mask.getMask() : Value();
  if (auto where = dyn_cast<WhereOp>(op)) {
    Value other = where.getOnTrue() == probabilities ? where.getOnFalse()
                                                     : where.getOnTrue();
    return constantNumber(other) == 0.0 ? where.getCondition() : Value();
  }
  if (!isa<MulOp>(op))
    return {};
  Value factor = op->getOperand(op->getOperand(0) == probabilities ? 1 : 0);
  return isMaskFactor(factor) ? factor : Value();
}

//===----------------------------------------------------------------------===//
// Masks that combine others
//===----------------------------------------------------------------------===//

/// Splits a bool mask, or a mask with 0 and 1, into two masks that together
/// hide the same keys; both null if it is not a combination.
static std::pair<Value, Value> getConjuncts(Value mask, bool inverted) {
  Operation *op = mask.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(op);
      cast && cast.getTo().isInteger(1))
    op = cast.getInput().getDefiningOp<MulOp>();
  if (isa_and_nonnull<MulOp>(op) &&
      !(isMaskFactor(op->getOperand(0)) && isMaskFactor(op->getOperand(1))))
    op = nullptr;
  if (inverted ? isa_and_nonnull<OrOp>(op) : isa_and_nonnull<AndOp, MulOp>(op))
    return {op->getOperand(0), op->getOperand(1)};
  return {};
}

SmallVector<MaskLink> splitMask(const MaskLink &link) {
  SmallVector<MaskLink> masks, open = {link};
  while (!open.empty() && masks.size() < maxLinks) {
    MaskLink next = open.pop_back_val();
    // An added mask: a bool mask in additive form, or a sum.
    if (next.kind == MaskLink::Adds) {
      auto sum = next.mask.getDefiningOp<AddOp>();
      std::optional<MaskLink> bools = additiveAsBool(next.mask, next.factor);
      if (bools && bools->kind == MaskLink::Hides) {
        open.push_back(*bools);
        continue;
      }
      if (!sum) {
        masks.push_back(next);
        continue;
      }
      for (Value term : {sum.getRhs(), sum.getLhs()}) {
        open.push_back(next);
        open.back().mask = term;
      }
      continue;
    }
    // A bool mask: an inversion, or a conjunction.
    if (auto inverse = next.mask.getDefiningOp<NotOp>()) {
      next.mask = inverse.getInput();
      next.inverted = !next.inverted;
      open.push_back(next);
      continue;
    }
    auto [lhs, rhs] = getConjuncts(next.mask, next.inverted);
    if (!lhs) {
      masks.push_back(next);
      continue;
    }
    for (Value mask : {rhs, lhs}) {
      open.push_back(next);
      open.back().mask = mask;
    }
  }
  return open.empty() ? masks : SmallVector<MaskLink>{link};
}

//===----------------------------------------------------------------------===//
// Causal masks
//===----------------------------------------------------------------------===//

std::optional<TriangleDifference> compareWithTriangle(const MaskLink &link) {
  std::optional<ConstantElements> mask = getConstantElements(link.mask);
  if (!mask || mask->sizes.size() < 2)
    return std::nullopt;
  const int64_t rows = mask->sizes[mask->sizes.size() - 2],
                columns = mask->sizes.back(), size = std::min(rows, columns);
  if (size < 2)
    return std::nullopt;

  // An added finite value hides if it is the only one.
  TriangleDifference difference;
  const bool adds = link.kind == MaskLink::Adds;
  const double corner = mask->numbers[columns - 1] * link.factor;
  if (adds && corner < 0 && corner > hidingValue)
    difference.hidesWith = corner;
  else if (link.kind == MaskLink::HidesWith)
    difference.hidesWith = link.value;
  auto isRight = [&](double number, bool isShown) {
    if (!adds)
      return (number != 0) == (isShown != link.inverted);
    if (isShown)
      return number == 0;
    return difference.hidesWith ? number * link.factor == corner
                                : number * link.factor <= hidingValue;
  };

  // Check each element: shown up to the diagonal, hidden after it.
  for (size_t start = 0; start < mask->numbers.size(); start += rows * columns)
    for (int64_t i = 0; i < size; ++i)
      for (int64_t j = 0; j < size; ++j) {
        ++difference.entries;
        if (isRight(mask->numbers[start + i * columns + j], j <= i) ||
            difference.wrong++ > 0)
          continue;
        difference.row = i;
        difference.column = j;
      }
  return difference;
}

} // namespace transom
