// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shape rules for attn operations. Each rule is implemented once, in
// `inferShapes`. Constraint numbers refer to the .td files.
#include "dialects/attn/AttnShapeRules.h"
#include "runtime/abi/RowSummary.h"

using namespace mlir;

namespace transom::attn {

using namespace rules;

// ===----------------------------------------------------------------------===//
// Matmuls
// ===----------------------------------------------------------------------===//

Types MatmulOp::inferShapes(EmitError emitError) {
  Shaped lhs(getLhs()), rhs(getRhs());
  if (failed(expectFloat(lhs, "left operand", 2, emitError, 1)) ||
      failed(expectFloat(rhs, "right operand", 2, emitError, 1)) ||
      failed(expectOneElement(lhs, rhs, "left", "right operand", emitError, 2)))
    return failure();
  size_t l = lhs.rank(), r = rhs.rank();
  if (getTransposeLhs())
    std::swap(lhs.dims[l - 2], lhs.dims[l - 1]);
  if (getTransposeRhs())
    std::swap(rhs.dims[r - 2], rhs.dims[r - 1]);
  if (lhs.dims[l - 1] != rhs.dims[r - 2])
    return violated(emitError, 3)
           << "expects one inner size, got '" << lhs.dims[l - 1].str()
           << "' and '" << rhs.dims[r - 2].str() << "'";
  auto leadLhs = ArrayRef(lhs.dims).drop_back(2);
  auto leadRhs = ArrayRef(rhs.dims).drop_back(2);
  auto dims = broadcastShapes(leadLhs, leadRhs);
  if (!dims)
    return violated(emitError, 4)
           << "expects leading dimensions that broadcast, got " << text(leadLhs)
           << " and " << text(leadRhs);
  dims->push_back(lhs.dims[l - 2]);
  dims->push_back(rhs.dims[r - 1]);
  return oneResult(*dims, lhs.element);
}

Types LinearOp::inferShapes(EmitError emitError) {
  Shaped input(getInput()), weight(getWeight());
  // Check input, weight and bias.
  if (failed(expectFloat(input, "input", 1, emitError, 4)) ||
      failed(expectOneElement(input, weight, "input", "weight", emitError, 4)))
    return failure();
  if (weight.rank() != 2 || !weight.isStatic())
    return violated(emitError, 1)
           << "expects a static weight of rank 2, got " << text(weight);
  if (input.last() != weight.dims[1])
    return violated(emitError, 2)
           << "expects input of width '" << weight.dims[1].str()
           << "' as the weight " << text(weight.dims) << ", got '"
           << input.last().str() << "'";
  if (getBias() &&
      failed(expectVector(Shaped(getBias()), "bias", weight.dims[0],
                          input.element, emitError, 3)))
    return failure();
  // Without columns the result has a column per weight row, else one per index.
  input.dims.back() = weight.dims[0];
  if (!getColumns())
    return oneResult(input.dims, input.element);
  Shaped columns(getColumns());
  if (!columns.isI64() || columns.rank() != 1)
    return violated(emitError, 5)
           << "expects columns of i64 and rank 1, got " << text(columns);
  input.dims.back() = columns.last();
  return oneResult(input.dims, input.element);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

/// Broadcasts both operands: bool if `logical`, else numeric.
static Types inferBinary(Value left, Value right, bool logical,
                         EmitError emitError) {
  Shaped lhs(left), rhs(right);
  if (failed(expectOneElement(lhs, rhs, "left", "right operand", emitError, 1)))
    return failure();
  bool fits = logical ? lhs.isBool() : lhs.isFloat() || lhs.isI64();
  if (!fits)
    return violated(emitError, 1)
           << "expects operands of " << (logical ? "bool" : "float or i64")
           << ", got " << lhs.element;
  auto dims = broadcastShapes(lhs.dims, rhs.dims);
  if (!dims)
    return violated(emitError, 2)
           << "expects shapes that broadcast, got " << text(lhs.dims) << " and "
           << text(rhs.dims)
           << (lhs.rank() < rhs.rank() ? suggestReshape(lhs.dims, rhs.dims)
                                       : suggestReshape(rhs.dims, lhs.dims));
  return oneResult(*dims, lhs.element);
}

Types AddOp::inferShapes(EmitError emitError) {
  return inferBinary(getLhs(), getRhs(), false, emitError);
}
Types SubOp::inferShapes(EmitError emitError) {
  return inferBinary(getLhs(), getRhs(), false, emitError);
}
Types MulOp::inferShapes(EmitError emitError) {
  return inferBinary(getLhs(), getRhs(), false, emitError);
}
Types DivOp::inferShapes(EmitError emitError) {
  return inferBinary(getLhs(), getRhs(), false, emitError);
}
Types AndOp::inferShapes(EmitError emitError) {
  return inferBinary(getLhs(), getRhs(), true, emitError);
}
Types OrOp::inferShapes(EmitError emitError) {
  return inferBinary(getLhs(), getRhs(), true, emitError);
}

Types NotOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (!input.isBool())
    return violated(emitError, 1) << "expects bool input, got " << text(input);
  return oneResult(input.dims, input.element);
}

Types CastOp::inferShapes(EmitError emitError) {
  if (!getTo().isIntOrFloat())
    return violated(emitError, 1)
           << "expects to cast to a float, integer or bool, got " << getTo();
  return oneResult(Shaped(getInput()).dims, getTo());
}

Types ScaleOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 0, emitError, 1)))
    return failure();
  return oneResult(input.dims, input.element);
}

Types ActivationOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 0, emitError, 1)))
    return failure();
  return oneResult(input.dims, input.element);
}

Types WhereOp::inferShapes(EmitError emitError) {
  Shaped condition(getCondition()), a(getOnTrue()), b(getOnFalse());
  if (!condition.isBool())
    return violated(emitError, 1)
           << "expects a bool condition, got " << text(condition);
  if (failed(expectOneElement(a, b, "first", "second value", emitError, 2)))
    return failure();
  auto values = broadcastShapes(a.dims, b.dims);
  auto dims = values ? broadcastShapes(condition.dims, *values) : std::nullopt;
  if (!dims)
    return violated(emitError, 3)
           << "expects shapes that broadcast, got " << text(condition.dims)
           << ", " << text(a.dims) << " and " << text(b.dims)
           << (values ? suggestReshape(condition.dims, *values) : "");
  return oneResult(*dims, a.element);
}

Types MaskOp::inferShapes(EmitError emitError) {
  Shaped scores(getScores()), mask(getMask());
  if (failed(expectFloat(scores, "scores", 1, emitError, 1)))
    return failure();
  if (!mask.isBool())
    return violated(emitError, 1) << "expects a bool mask, got " << text(mask);
  auto dims = broadcastShapes(scores.dims, mask.dims);
  if (!dims || *dims != scores.dims)
    return violated(emitError, 2)
           << "expects a mask that broadcasts to " << text(scores.dims)
           << ", got " << text(mask.dims)
           << suggestReshape(mask.dims, scores.dims);
  return oneResult(scores.dims, scores.element);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Types TransposeOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  SmallVector<int64_t> sorted(getPermutation());
  llvm::sort(sorted);
  bool valid = static_cast<int64_t>(sorted.size()) == input.rank();
  for (auto [index, value] : llvm::enumerate(sorted))
    valid &= static_cast<int64_t>(index) == value;
  if (!valid)
    return violated(emitError, 1)
           << "expects a permutation of " << input.rank()
           << " dimensions, got [" << getPermutation() << "]";
  SmallVector<Polynomial> dims;
  for (int64_t from : getPermutation())
    dims.push_back(input.dims[from]);
  return oneResult(dims, input.element);
}

static Polynomial getProduct(ArrayRef<Polynomial> dims) {
  Polynomial product(1);
  for (const Polynomial &dim : dims)
    product = product * dim;
  return product;
}

Types ReshapeOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  SmallVector<Polynomial> dims = getShape().getDims();
  Polynomial before = getProduct(input.dims), after = getProduct(dims);
  if (before != after)
    return violated(emitError, 1)
           << "expects as many elements in " << text(dims) << " as in "
           << text(input.dims) << ", got '" << after.str() << "' and '"
           << before.str() << "'";
  return oneResult(dims, input.element);
}

Types ConcatOp::inferShapes(EmitError emitError) {
  if (getInputs().empty())
    return violated(emitError, 1) << "expects at least one input";
  Shaped first(getInputs().front());
  int64_t axis = getAxis();
  if (axis < 0 || axis >= first.rank())
    return violated(emitError, 2)
           << "expects an axis below " << first.rank() << ", got " << axis;
  Polynomial size;
  for (Value value : getInputs()) {
    Shaped input(value);
    if (input.element != first.element || input.rank() != first.rank())
      return violated(emitError, 3)
             << "expects inputs of one element type and rank, got "
             << text(first) << " and " << text(input);
    size = size + input.dims[axis];
    SmallVector<Polynomial> others = first.dims;
    others[axis] = input.dims[axis];
    if (others != input.dims)
      return violated(emitError, 4)
             << "expects inputs that differ in axis " << axis << " only, got "
             << text(first.dims) << " and " << text(input.dims);
  }
  first.dims[axis] = size;
  return oneResult(first.dims, first.element);
}

Types SliceOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  int64_t axis = getAxis(), start = getStart();
  if (axis < 0 || axis >= input.rank())
    return violated(emitError, 1)
           << "expects an axis below " << input.rank() << ", got " << axis;
  Polynomial size = getSize().getPolynomial();
  Polynomial left = input.dims[axis] - size - Polynomial(start);
  std::optional<int64_t> known = left.constant(), length = size.constant();
  if (start < 0 || (known && *known < 0) || (length && *length < 0))
    return violated(emitError, 2)
           << "expects a range in '" << input.dims[axis].str() << "', got '"
           << size.str() << "' from " << start;
  input.dims[axis] = size;
  return oneResult(input.dims, input.element);
}

Types GatherOp::inferShapes(EmitError emitError) {
  Shaped table(getTable()), indices(getIndices());
  if (table.rank() < 1)
    return violated(emitError, 1)
           << "expects a table of rank 1 or more, got " << text(table);
  if (failed(expectI64(indices, "indices", emitError, 2)))
    return failure();
  SmallVector<Polynomial> dims = indices.dims;
  dims.append(table.dims.begin() + 1, table.dims.end());
  return oneResult(dims, table.element);
}

Types EmbeddingOp::inferShapes(EmitError emitError) {
  Shaped ids(getIds()), table(getTable());
  if (table.rank() != 2 || !table.isStatic() || !table.isFloat())
    return violated(emitError, 1)
           << "expects a static float table of rank 2, got " << text(table);
  if (failed(expectI64(ids, "ids", emitError, 2)))
    return failure();
  ids.dims.push_back(table.dims[1]);
  return oneResult(ids.dims, table.element);
}

Types PositionOp::inferShapes(EmitError emitError) {
  Shaped ids(getIds());
  if (failed(expectI64(ids, "ids", emitError, 1)))
    return failure();
  int64_t rank = getRagged() ? 1 : 2;
  if (ids.rank() != rank)
    return violated(emitError, 2)
           << "expects ids of rank " << rank << ", got " << text(ids.dims);
  if (getRagged() && getKind() != PositionKind::Column)
    return violated(emitError, 3)
           << "expects kind 'column' with a ragged batch, got '"
           << stringifyPositionKind(getKind()) << "'";
  return oneResult(ids.dims, ids.element);
}

//===----------------------------------------------------------------------===//
// Norms, softmax, pooling
//===----------------------------------------------------------------------===//

Types SoftmaxOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 1, emitError, 1)))
    return failure();
  return oneResult(input.dims, input.element);
}

Types RowSummaryOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 1, emitError, 1)))
    return failure();
  std::optional<int64_t> width = input.last().constant();
  if (!width || *width < 1)
    return violated(emitError, 1)
           << "expects a constant last dimension of at least 1, got "
           << text(input);
  SmallVector<Polynomial> dims = input.dims;
  dims.back() = Polynomial(getNumSummaryGroups(*width));
  return SmallVector<Type>(2, getTensorType(dims, input.element));
}

Types LayerNormOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 1, emitError, 1)) ||
      failed(expectVector(Shaped(getGamma()), "gamma", input.last(),
                          input.element, emitError, 2)))
    return failure();
  if (getBeta() && failed(expectVector(Shaped(getBeta()), "beta", input.last(),
                                       input.element, emitError, 2)))
    return failure();
  return oneResult(input.dims, input.element);
}

Types RmsNormOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 1, emitError, 1)) ||
      failed(expectVector(Shaped(getGamma()), "gamma", input.last(),
                          input.element, emitError, 2)))
    return failure();
  return oneResult(input.dims, input.element);
}

/// Expects bool with the input's sizes except for the last.
static LogicalResult expectPoolMask(PoolOp op, Shaped input,
                                    EmitError emitError, int rule) {
  if (!op.getMask())
    return success();
  Shaped mask(op.getMask());
  ArrayRef<Polynomial> sizes = ArrayRef(input.dims).drop_back();
  if (mask.isBool() && ArrayRef(mask.dims) == sizes)
    return success();
  return violated(emitError, rule)
         << "expects a bool mask " << text(sizes) << ", got " << text(mask);
}

/// Rule 1: [tokens, d] with a ragged batch.
static Types inferRaggedPool(PoolOp op, Shaped input, EmitError emitError) {
  if (input.rank() != 2)
    return violated(emitError, 1)
           << "expects [tokens, d] with a ragged batch, got "
           << text(input.dims);
  if (!op.getBatch())
    return violated(emitError, 1) << "expects 'batch' with a ragged batch";
  if (failed(expectPoolMask(op, input, emitError, 1)))
    return failure();
  return oneResult({op.getBatch()->getPolynomial(), input.last()},
                   input.element);
}

Types PoolOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 2, emitError, 3)))
    return failure();
  if (getRagged())
    return inferRaggedPool(*this, input, emitError);
  if (input.rank() != 3)
    return violated(emitError, 2)
           << "expects [batch, seq, d], got " << text(input.dims);
  if (failed(expectPoolMask(*this, input, emitError, 2)))
    return failure();
  return oneResult({input.dims[0], input.dims[2]}, input.element);
}

Types NeighborsOp::inferShapes(EmitError emitError) {
  // Check the input; its width is constant.
  Shaped input(getInput());
  if (failed(expectFloat(input, "input", 2, emitError, 3)))
    return failure();
  std::optional<int64_t> width = input.last().constant();
  if (!width)
    return violated(emitError, 3)
           << "expects a constant d, got '" << input.last().str() << "'";
  // Check the shape with and without a ragged batch, and the mask.
  if (getRagged()) {
    if (input.rank() != 2 || getMask())
      return violated(emitError, 1)
             << "expects [rows, d] and no mask with a ragged batch, got "
             << text(input.dims);
  } else {
    if (input.rank() != 3)
      return violated(emitError, 2)
             << "expects [batch, seq, d], got " << text(input.dims);
    if (getMask()) {
      Shaped mask(getMask());
      if (!mask.isBool() ||
          ArrayRef(mask.dims) != ArrayRef(input.dims).take_front(2))
        return violated(emitError, 2)
               << "expects a bool mask "
               << text(ArrayRef(input.dims).take_front(2)) << ", got "
               << text(mask);
    }
  }
  // Check the reach; the result concatenates all neighbors.
  const auto reach = static_cast<int64_t>(getReach());
  if (reach < 0 || reach > 127)
    return violated(emitError, 4)
           << "expects a reach from 0 to 127, got " << reach;
  input.dims.back() = Polynomial((2 * reach + 1) * *width);
  return oneResult(input.dims, input.element);
}

//===----------------------------------------------------------------------===//
// Ragged rows
//===----------------------------------------------------------------------===//

Types GatherRowsOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  if (input.rank() < 2)
    return violated(emitError, 1)
           << "expects an input of rank 2 or more, got " << text(input);
  auto ragged = dyn_cast<RaggedType>(getOperation()->getOperand(1).getType());
  if (!ragged)
    return emitError() << "expects a ragged batch, got "
                       << getOperation()->getOperand(1).getType();
  SmallVector<Polynomial> dims = {
      Polynomial::symbol(ragged.getRows().getValue().str())};
  dims.append(input.dims.begin() + 2, input.dims.end());
  return oneResult(dims, input.element);
}

Types ScatterRowsOp::inferShapes(EmitError emitError) {
  Shaped input(getInput());
  auto ragged = dyn_cast<RaggedType>(getOperation()->getOperand(1).getType());
  if (!ragged)
    return emitError() << "expects a ragged batch, got "
                       << getOperation()->getOperand(1).getType();
  Polynomial rows = Polynomial::symbol(ragged.getRows().getValue().str());
  if (input.rank() < 1 || input.dims[0] != rows)
    return violated(emitError, 1)
           << "expects ['" << rows.str() << "', ...], got " << text(input);
  SmallVector<Polynomial> dims = {getBatch().getPolynomial(),
                                  getSeq().getPolynomial()};
  dims.append(input.dims.begin() + 1, input.dims.end());
  return oneResult(dims, input.element);
}

} // namespace transom::attn
