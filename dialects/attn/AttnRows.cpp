// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operations that are not tokenwise work on rows without padding, and how
// their attributes change then. Products and lookups have no attribute that
// names a dimension.
#include "dialects/attn/Attn.h"

using namespace mlir;

namespace transom::attn {

static int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// True for a value with a size that is not constant.
static bool hasSymbols(Value value) {
  return llvm::any_of(
      getSymbolicShape(value.getType()),
      [](const Polynomial &size) { return !size.isConstant(); });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

StringRef MatmulOp::getRowObstacle(const RowQuery &rows) {
  int64_t lhs = getRank(getLhs()), rhs = getRank(getRhs());
  bool isByRow = lhs >= 4 || (lhs == 3 && !getTransposeLhs());
  if (rows.isRows(getLhs()) && rows.isFixed(getRhs()) && rhs == 2 && isByRow)
    return "";
  if (rows.isRows(getLhs()) && rows.isRows(getRhs()) && lhs == rhs && lhs >= 4)
    return "";
  return "a product mixes positions";
}

void MatmulOp::adaptToRows() {}

bool MatmulOp::mixesRows() {
  return getRank(getResult()) == 2 && hasSymbols(getRhs());
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

StringRef TransposeOp::getRowObstacle(const RowQuery &rows) {
  ArrayRef<int64_t> order = getPermutation();
  if (order.size() < 2 || order[0] != 0 || order[1] != 1)
    return "it moves batch or length";
  return rows.isRows(getInput()) ? "" : "its input has no rows";
}

void TransposeOp::adaptToRows() {
  SmallVector<int64_t> order = {0};
  for (int64_t from : getPermutation().drop_front(2))
    order.push_back(from - 1);
  setPermutation(order);
}

StringRef ReshapeOp::getRowObstacle(const RowQuery &rows) {
  return rows.isRows(getInput()) && rows.hasRowsShape(getResult())
             ? ""
             : "it moves or merges batch or length";
}

void ReshapeOp::adaptToRows() {
  SmallVector<Polynomial> dims(getShape().getDims());
  dims.erase(dims.begin());
  dims[0] = getSymbolicShape(getInput().getType())[0];
  setShapeAttr(ShapeAttr::get(getContext(), dims));
}

StringRef ConcatOp::getRowObstacle(const RowQuery &rows) {
  if (getAxis() < 2)
    return "it joins along the batch or the length";
  return llvm::all_of(getInputs(), rows.isRows)
             ? ""
             : "it joins rows with what has none";
}

void ConcatOp::adaptToRows() { setAxis(getAxis() - 1); }

StringRef SliceOp::getRowObstacle(const RowQuery &rows) {
  return rows.isRows(getInput()) && getAxis() >= 2
             ? ""
             : "it cuts the batch or the length";
}

void SliceOp::adaptToRows() { setAxis(getAxis() - 1); }

StringRef GatherOp::getRowObstacle(const RowQuery &rows) {
  if (!rows.isFixed(getTable()))
    return "its table depends on the length";
  return rows.isRows(getIndices()) ? "" : "its indices have no rows";
}

void GatherOp::adaptToRows() {}

bool GatherOp::mixesRows() { return hasSymbols(getTable()); }

} // namespace transom::attn
