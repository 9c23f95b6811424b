// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move rows and elements: reads, writes and verifiers.
// Constraint numbers refer to the op descriptions.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

bool GatherOp::acceptsStride() { return true; }
bool ScatterRowsOp::acceptsStride() { return true; }

BUFFER_OP(PositionsOp, (ValueRange{getIds()}), std::nullopt, Polynomial())
BUFFER_OP(ColumnsOp, ValueRange(), std::nullopt, Polynomial())
BUFFER_OP(GatherRowsOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(ScatterRowsOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(NeighborsOp, (SmallVector<Value>{getInput(), getMask()}),
          std::nullopt, Polynomial())
BUFFER_OP(PoolOp, (SmallVector<Value>{getInput(), getMask()}), std::nullopt,
          getElementCount(getInput()))
BUFFER_OP(TransposeOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(CopyOp, (ValueRange{getInput()}), std::nullopt, Polynomial())
BUFFER_OP(GatherOp, (ValueRange{getTable(), getIndices()}), std::nullopt,
          Polynomial())

bool PoolOp::canRoundOutput(Value out, const RoundedBuffer &rounded,
                            bool onlyRounded, RoundObstacle &obstacle) {
  return replacesOut(getOuts(), out, rounded, onlyRounded, obstacle);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult PositionsOp::verify() {
  for (Value buffer : {getIds(), getOuts()})
    if (!getBufferType(buffer).getElementType().isInteger(64))
      return Constraint{*this, 1}.expects()
             << "i64, got " << getBufferType(buffer).getElementType();
  return verifySameSizes({*this, 2}, "ids and outs", getIds(), getOuts());
}

LogicalResult ColumnsOp::verify() {
  if (!getBufferType(getOuts()).getElementType().isInteger(64))
    return Constraint{*this, 1}.expects()
           << "i64, got " << getBufferType(getOuts()).getElementType();
  return success();
}

/// Constraints 1 and 2 in gather_rows and scatter_rows.
static LogicalResult verifyRaggedPair(Operation *op, Value wide, Value ragged) {
  if (failed(verifySameElements({op, 1}, "input and outs", wide, ragged)))
    return failure();
  Sizes outer = getSizes(wide), rows = getSizes(ragged);
  if (outer.size() == rows.size() + 1 && !rows.empty() &&
      ArrayRef(outer).drop_front(2) == ArrayRef(rows).drop_front(1))
    return success();
  return Constraint{op, 2}.expects()
         << ("[batch, columns, ...] and [rows, ...] with "
             "equal rests, got ")
         << text(outer) << " and " << text(rows);
}

LogicalResult GatherRowsOp::verify() {
  if (!isDense(getInput()) || !isDense(getOuts()))
    return Constraint{*this, 3}.expects() << "dense buffers";
  return verifyRaggedPair(*this, getInput(), getOuts());
}

LogicalResult ScatterRowsOp::verify() {
  bool denseInput =
      isDense(getInput()) || (getBufferType(getInput()).getRank() == 2 &&
                              !getBufferType(getInput()).getKeyPanels());
  if (!denseInput || !isDense(getOuts()))
    return Constraint{*this, 3}.expects() << "dense buffers";
  return verifyRaggedPair(*this, getOuts(), getInput());
}

LogicalResult PoolOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfFloat({*this, 1}, "outs", getOuts())))
    return failure();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (outs.size() != 2 || input.empty() || input.back() != outs.back())
    return Constraint{*this, 2}.expects()
           << "outs [batch, d] of an input [.., d], got " << text(outs)
           << " and " << text(input);
  if (getMask() && !getBufferType(getMask()).getElementType().isInteger(1))
    return Constraint{*this, 3}.expects()
           << "a bool mask, got " << getBufferType(getMask()).getElementType();
  return success();
}

LogicalResult NeighborsOp::verify() {
  const int64_t reach = getReach();
  if (reach < 0 || reach > 127)
    return Constraint{*this, 2}.expects()
           << "a reach from 0 to 127, got " << reach;
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfF32({*this, 1}, "outs", getOuts())))
    return failure();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (input.size() != 2 || outs.size() != 2 || input[0] != outs[0] ||
      outs[1] != Polynomial(2 * reach + 1) * input[1])
    return Constraint{*this, 1}.expects()
           << "an input [rows, d] and outs [rows, " << 2 * reach + 1
           << "*d], got " << text(input) << " and " << text(outs);
  if (getMask() && !getBufferType(getMask()).getElementType().isInteger(1))
    return Constraint{*this, 3}.expects()
           << "a bool mask, got " << getBufferType(getMask()).getElementType();
  if (getStorage(getInput()) == getStorage(getOuts()))
    return Constraint{*this, 4}.expects()
           << "outs in other memory than the input";
  return success();
}

LogicalResult TransposeOp::verify() {
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts()), expected;
  SmallVector<bool> seen(input.size());
  for (int64_t dim : getPermutation()) {
    if (dim < 0 || dim >= int64_t(input.size()) || seen[dim] ||
        getPermutation().size() != input.size())
      return Constraint{*this, 1}.expects()
             << "a permutation of " << input.size() << " dimensions, got ["
             << getPermutation() << "]";
    seen[dim] = true;
    expected.push_back(input[dim]);
  }
  if (expected != outs)
    return Constraint{*this, 2}.expects()
           << "outs " << text(expected) << ", got " << text(outs);
  return verifySameElements({*this, 3}, "input and outs", getInput(),
                            getOuts());
}

/// Constraint 4: fails if a block with `size` elements from `at` on exceeds
/// `end` by a constant number.
static LogicalResult verifyWithin(CopyOp op, const char *name, StringRef at,
                                  const Polynomial &end) {
  Polynomial rest = end - *Polynomial::parse(at.str()) -
                    *Polynomial::parse(op.getSize().str());
  if (rest.constant().value_or(0) >= 0)
    return success();
  return Constraint{op, 4}.expects()
         << "a block within " << name << ", got " << op.getSize() << " from "
         << at << " of " << end.str();
}

LogicalResult CopyOp::verify() {
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  int64_t axis = getAxis();
  if (input.size() != outs.size() || axis < 0 || axis >= int64_t(input.size()))
    return Constraint{*this, 1}.expects()
           << "an axis of both buffers, got " << axis << " of " << text(input)
           << " and " << text(outs);
  if (failed(verifySize({*this, 2}, "from", getFrom())) ||
      failed(verifySize({*this, 2}, "to", getTo())) ||
      failed(verifySize({*this, 2}, "size", getSize())))
    return failure();
  for (size_t i = 0; i < input.size(); ++i)
    if (int64_t(i) != axis && input[i] != outs[i])
      return Constraint{*this, 3}.expects()
             << "equal sizes but of axis " << axis << ", got " << text(input)
             << " and " << text(outs);
  if (failed(verifyWithin(*this, "the input", getFrom(), input[axis])) ||
      failed(verifyWithin(*this, "outs", getTo(), outs[axis])))
    return failure();
  return verifySameElements({*this, 5}, "input and outs", getInput(),
                            getOuts());
}

LogicalResult GatherOp::verify() {
  if (!getBufferType(getIndices()).getElementType().isInteger(64))
    return Constraint{*this, 1}.expects()
           << "i64 indices, got "
           << getBufferType(getIndices()).getElementType();
  Sizes expected = getSizes(getIndices()), table = getSizes(getTable()),
        outs = getSizes(getOuts());
  expected.append(table.empty() ? table.end() : table.begin() + 1, table.end());
  if (table.empty() || expected != outs)
    return Constraint{*this, 2}.expects()
           << "outs " << text(expected) << ", got " << text(outs);
  bool rows = getBufferType(getTable()).getRank() == 2;
  auto inRows = [&](Value buffer) {
    return isDense(buffer) || (rows && getBufferType(buffer).getRank() == 2 &&
                               !getBufferType(buffer).getKeyPanels());
  };
  if (!inRows(getTable()) || !isDense(getIndices()) || !inRows(getOuts()))
    return Constraint{*this, 4}.expects() << "dense buffers";
  return verifySameElements({*this, 3}, "table and outs", getTable(),
                            getOuts());
}
