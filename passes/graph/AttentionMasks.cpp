// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows a mask that is written as numbers back to the bool mask that it is
// made of, or to a constant whose elements say what is hidden.
#include "passes/graph/AttentionMasks.h"
#include <cmath>

using namespace mlir;
using namespace transom::attn;

namespace transom {

/// A finite number this low hides as minus infinity does.
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
    input = op->getOperand(1 - side);
    // A constant that broadcasts the operand is not only a factor.
    if (getDims(input) != getDims(op->getResult(0)))
      return std::nullopt;
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

/// True for bools and for the 0 and 1 of a mask argument.
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

/// `factor * mask + offset` of a mask of 0 and 1.
struct AffineMask {
  Value mask;
  double factor = 1, offset = 0;
};

static std::optional<AffineMask> affineMask(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxLinks)
    return std::nullopt;
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

  // Insert what `input` is in turn.
  auto inner = affineMask(input, depth + 1);
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

  // A number that is 0 for one value of the mask hides with the other.
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

/// True for a constant of zeros and ones.
static bool isZeroOrOneConstant(Operation *op) {
  auto constant = dyn_cast_or_null<ConstantOp>(op);
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  if (!elements || !isa<FloatType>(elements.getElementType()))
    return false;
  return llvm::all_of(elements.getValues<APFloat>(), [](const APFloat &number) {
    return number.isZero() || number.isExactlyValue(1);
  });
}

/// True for a factor that is 0 or 1, whatever it is made of.
static bool isMaskFactor(Value factor) {
  while (Operation *op = factor.getDefiningOp()) {
    if (isZeroOrOneConstant(op) || isZeroOrOne(factor))
      return true;
    auto isBit = [](double number) { return number == 0 || number == 1; };
    if (auto affine = affineMask(factor))
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

/// Compares a constant `[1, .., n, n]` with one that shows the keys up to the
/// diagonal (1, or 0 if it is added), and hides the keys after it.
static std::optional<TriangleDifference>
compareWithTriangle(ConstantOp op, const MaskLink &link) {
  // Check shape and element type.
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  ArrayRef<int64_t> shape = op.getValue().getShapedType().getShape();
  if (!elements || shape.size() < 2)
    return std::nullopt;
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  if (rows != columns || rows < 2 ||
      op.getValue().getNumElements() != rows * columns)
    return std::nullopt;
  bool adds = link.kind == MaskLink::Adds;
  Type element = elements.getElementType();

  // Check each element: shown up to the diagonal, hidden after it.
  auto sees = [&](int64_t index) {
    if (isa<IntegerType>(element))
      return elements.getValues<APInt>()[index].isZero() == link.inverted;
    double number = elements.getValues<APFloat>()[index].convertToDouble();
    return adds ? number == 0 : (number == 0) == link.inverted;
  };
  auto hides = [&](int64_t index) {
    if (!adds)
      return !sees(index);
    return elements.getValues<APFloat>()[index].convertToDouble() *
               link.factor <=
           hidingValue;
  };
  TriangleDifference difference;
  difference.entries = rows * columns;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (j <= i ? !sees(i * columns + j) : !hides(i * columns + j))
        if (difference.wrong++ == 0) {
          difference.row = i;
          difference.column = j;
        }
  return difference;
}

/// The constant that a mask is cut from, starting at its first row and column.
/// Looks through casts that keep what the mask means: which elements are zero,
/// or, for a mask that is added, each number.
static ConstantOp triangleSource(Value mask, bool adds) {
  for (int links = 0; links < maxLinks; ++links) {
    Operation *op = mask.getDefiningOp();
    if (!op || isa<ConstantOp>(op))
      return dyn_cast_or_null<ConstantOp>(op);
    if (auto slice = dyn_cast<SliceOp>(op)) {
      if (slice.getStart() != 0)
        return {};
    } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
      // Leading sizes of 1 may be added or dropped.
      Dims from = getDims(reshape.getInput()),
           to = getDims(reshape.getResult());
      if (from.size() < 2 || to.size() < 2 ||
          ArrayRef(from).take_back(2) != ArrayRef(to).take_back(2))
        return {};
    } else if (auto cast = dyn_cast<CastOp>(op)) {
      bool floats = isa<FloatType>(getElementTypeOrSelf(cast.getInput())) &&
                    isa<FloatType>(cast.getTo());
      if (!floats && (adds || !cast.getTo().isInteger(1)))
        return {};
    } else {
      return {};
    }
    mask = op->getOperand(0);
  }
  return {};
}

std::optional<TriangleDifference> compareWithTriangle(const MaskLink &link) {
  ConstantOp source = triangleSource(link.mask, link.kind == MaskLink::Adds);
  return source ? compareWithTriangle(source, link) : std::nullopt;
}

} // namespace transom
