// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For masks, each operation maps the axes along which its operand repeats the
// mask to the result's axes. The other functions are short helpers.
#include "passes/graph/GraphSupport.h"
#include "dialects/weights/StoredGroups.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace transom {

using namespace attn;

/// Longer mask operation chains are not followed.
static constexpr int maxMaskDepth = 16;

LogicalResult setInferredTypes(Operation *op) {
  auto types = cast<ShapeInferable>(op).inferShapes([&] {
    InFlightDiagnostic error = op->emitOpError();
    if (std::string location = getModulePath(op->getLoc()); !location.empty())
      error << "at '" << location << "' ";
    return error;
  });
  if (failed(types))
    return failure();
  for (auto [type, result] : llvm::zip_equal(*types, op->getResults()))
    result.setType(type);
  return success();
}

Value createReshape(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<Polynomial> dims) {
  if (ArrayRef(getDims(value)) == dims)
    return value;
  if (auto inner = value.getDefiningOp<ReshapeOp>())
    return createReshape(builder, loc, inner.getInput(), dims);
  return createInferred<ReshapeOp>(builder, loc, value,
                                   ShapeAttr::get(builder.getContext(), dims));
}

Value createScalar(OpBuilder &builder, Location loc, Type element,
                   double value) {
  auto type = RankedTensorType::get({1}, element);
  auto number = builder.getFloatAttr(element, value);
  return builder.create<ConstantOp>(
      loc, type, cast<ElementsAttr>(DenseElementsAttr::get(type, number)));
}

std::optional<double> constantNumber(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  if (isa<IntegerType>(elements.getElementType()))
    return elements.getSplatValue<APInt>().getSExtValue();
  return std::nullopt;
}

Dims getDims(Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return {};
  return getSymbolicShape(value.getType());
}

std::string getStoredFormat(attn::WeightOp weight) {
  return transom::getStoredFormat(weight.getExpr().getExpr());
}

void eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

unsigned findListedLogits(func::FuncOp entry) {
  for (unsigned i = 1; i < entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, "attn.name");
    if (name && name == "listed_logits")
      return i;
  }
  return 0;
}

SmallVector<func::FuncOp> getEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isDeclaration())
      entries.push_back(function);
  return entries;
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

using Axes = std::optional<SmallVector<int64_t>>;

static Axes getAxes(Value value, Value mask, int depth);

static Axes unite(Axes a, Axes b) {
  if (!a || !b)
    return std::nullopt;
  for (int64_t axis : *b)
    if (!llvm::is_contained(*a, axis))
      a->push_back(axis);
  llvm::sort(*a);
  return a;
}

/// The axes after a reshape that only adds or drops unit sizes after the batch.
static Axes getAxesOfReshape(ReshapeOp op, Axes axes) {
  // List the axes with a size other than 1, and the batch.
  Dims from = getDims(op.getInput()), to = getDims(op.getResult());
  SmallVector<int64_t> fromAxes, toAxes;
  Dims fromSizes, toSizes;
  auto collect = [](const Dims &dims, SmallVector<int64_t> &kept, Dims &sizes) {
    for (auto [axis, size] : llvm::enumerate(dims))
      if (axis == 0 || size != Polynomial(1)) {
        kept.push_back(axis);
        sizes.push_back(size);
      }
  };
  collect(from, fromAxes, fromSizes);
  collect(to, toAxes, toSizes);
  if (!axes || fromSizes != toSizes)
    return std::nullopt;

  // Map each axis to the axis at the same index in the other list.
  SmallVector<int64_t> result;
  for (int64_t axis : *axes) {
    const auto *at = llvm::find(fromAxes, axis);
    if (at == fromAxes.end())
      return std::nullopt;
    result.push_back(toAxes[at - fromAxes.begin()]);
  }
  return result;
}

static Axes getAxesOfTranspose(TransposeOp op, Axes axes) {
  ArrayRef<int64_t> permutation = op.getPermutation();
  if (!axes || permutation.empty() || permutation[0] != 0)
    return std::nullopt;
  SmallVector<int64_t> result;
  for (auto [to, from] : llvm::enumerate(permutation))
    if (llvm::is_contained(*axes, from))
      result.push_back(to);
  return result;
}

/// Both operands must have the same rank.
static Axes getAxesOfProduct(Value lhs, Value rhs, Value mask, int depth) {
  if (getDims(lhs).size() != getDims(rhs).size())
    return std::nullopt;
  return unite(getAxes(lhs, mask, depth), getAxes(rhs, mask, depth));
}

/// `[batch, q, 1] x [batch, 1, k]`: the outer product of two masks.
static Axes getAxesOfMatmul(MatmulOp op, Value mask, int depth) {
  Dims lhs = getDims(op.getLhs()), rhs = getDims(op.getRhs());
  if (lhs.size() != 3 || rhs.size() != 3 ||
      lhs[op.getTransposeLhs() ? 1 : 2] != Polynomial(1))
    return std::nullopt;
  Axes rows = getAxes(op.getLhs(), mask, depth);
  Axes columns = getAxes(op.getRhs(), mask, depth);
  if (!rows || !columns)
    return std::nullopt;
  if (!rows->empty())
    rows->assign({1});
  if (!columns->empty())
    columns->assign({2});
  return unite(rows, columns);
}

static Axes getAxes(Value value, Value mask, int depth) {
  // The mask itself has its length on axis 1.
  if (value == mask)
    return SmallVector<int64_t>{1};
  Operation *op = value.getDefiningOp();
  if (!op || depth > maxMaskDepth)
    return std::nullopt;

  // For any other value, the operation maps the axes of its operands.
  ++depth;
  return TypeSwitch<Operation *, Axes>(op)
      .Case([&](CastOp cast) { return getAxes(cast.getInput(), mask, depth); })
      .Case([&](ReshapeOp reshape) {
        return getAxesOfReshape(reshape,
                                getAxes(reshape.getInput(), mask, depth));
      })
      .Case([&](TransposeOp transpose) {
        return getAxesOfTranspose(transpose,
                                  getAxes(transpose.getInput(), mask, depth));
      })
      .Case<AndOp, MulOp>([&](auto product) {
        return getAxesOfProduct(product.getLhs(), product.getRhs(), mask,
                                depth);
      })
      .Case([&](MatmulOp product) {
        return getAxesOfMatmul(product, mask, depth);
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<SmallVector<int64_t>> maskAxes(Value value, Value mask) {
  return getAxes(value, mask, 0);
}

} // namespace transom
