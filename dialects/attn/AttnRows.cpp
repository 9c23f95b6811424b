// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that are not tokenwise but can work on rows without padding, and
// the changes to their attributes. Matmuls and lookups have no attribute that
// refers to a dimension.
#include "dialects/attn/Attn.h"

using namespace mlir;

namespace transom::attn {

static int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// True for a value with a symbolic size.
static bool hasSymbols(Value value) {
  return llvm::any_of(
      getSymbolicShape(value.getType()),
      [](const Polynomial &size) { return !size.isConstant(); });
}

// ===----------------------------------------------------------------------===//
// Matmuls
// ===----------------------------------------------------------------------===//

RowObstacle MatmulOp::getRowObstacle(const RowQuery &rows) {
  int64_t lhs = getRank(getLhs()), rhs = getRank(getRhs());
  bool isByRow = lhs >= 4 || (lhs == 3 && !getTransposeLhs());
  if (rows.isRows(getLhs()) && rows.isFixed(getRhs()) && rhs == 2 && isByRow)
    return RowObstacle::None;
  if (rows.isRows(getLhs()) && rows.isRows(getRhs()) && lhs == rhs && lhs >= 4)
    return RowObstacle::None;
  return RowObstacle::MixesPositions;
}

void MatmulOp::adaptToRows() {}

bool MatmulOp::mixesRows() {
  return getRank(getResult()) == 2 && hasSymbols(getRhs());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

RowObstacle TransposeOp::getRowObstacle(const RowQuery &rows) {
  ArrayRef<int64_t> order = getPermutation();
  if (order.size() < 2 || order[0] != 0 || order[1] != 1)
    return RowObstacle::MovesBatchOrLength;
  return rows.isRows(getInput()) ? RowObstacle::None
                                 : RowObstacle::InputHasNoRows;
}

void TransposeOp::adaptToRows() {
  SmallVector<int64_t> order = {0};
  for (int64_t from : getPermutation().drop_front(2))
    order.push_back(from - 1);
  setPermutation(order);
}

RowObstacle ReshapeOp::getRowObstacle(const RowQuery &rows) {
  return rows.isRows(getInput()) && rows.hasRowsShape(getResult())
             ? RowObstacle::None
             : RowObstacle::MovesBatchOrLength;
}

void ReshapeOp::adaptToRows() {
  SmallVector<Polynomial> dims(getShape().getDims());
  dims.erase(dims.begin());
  dims[0] = getSymbolicShape(getInput().getType())[0];
  setShapeAttr(ShapeAttr::get(getContext(), dims));
}

RowObstacle ConcatOp::getRowObstacle(const RowQuery &rows) {
  if (getAxis() < 2)
    return RowObstacle::JoinsBatchOrLength;
  return llvm::all_of(getInputs(), rows.isRows)
             ? RowObstacle::None
             : RowObstacle::JoinsRowsWithOthers;
}

void ConcatOp::adaptToRows() { setAxis(getAxis() - 1); }

RowObstacle SliceOp::getRowObstacle(const RowQuery &rows) {
  return rows.isRows(getInput()) && getAxis() >= 2
             ? RowObstacle::None
             : RowObstacle::CutsBatchOrLength;
}

void SliceOp::adaptToRows() { setAxis(getAxis() - 1); }

RowObstacle GatherOp::getRowObstacle(const RowQuery &rows) {
  if (!rows.isFixed(getTable()))
    return RowObstacle::LookupTableDependsOnLength;
  return rows.isRows(getIndices()) ? RowObstacle::None
                                   : RowObstacle::IndicesHaveNoRows;
}

void GatherOp::adaptToRows() {}

bool GatherOp::mixesRows() { return hasSymbols(getTable()); }

} // namespace transom::attn
