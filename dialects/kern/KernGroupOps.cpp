// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounded sizes and token groups: reads, writes and verifiers. Constraint
// numbers refer to the op descriptions.
#include "dialects/kern/KernBufferOp.h"
#include "dialects/kern/KernVerify.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Reads and writes
//===----------------------------------------------------------------------===//

Polynomial BoundedSizeOp::getParsedBound() {
  Result<Polynomial> parsed = Polynomial::parse(getBound().str());
  return parsed ? *parsed : Polynomial();
}

int64_t GroupTokensOp::getNumGroups() {
  return getBufferType(getOffsets()).getDims()[0].constant().value_or(1) - 1;
}
SmallVector<Value> GroupTokensOp::readBuffers() { return {getGroups()}; }
SmallVector<Value> GroupTokensOp::writtenBuffers() {
  return {getTokens(), getOffsets(), getPositions()};
}
FlatSymbolRefAttr GroupTokensOp::getWrittenSize() { return getSizeAttr(); }
std::optional<Polynomial> GroupTokensOp::ownedRows() { return std::nullopt; }
Polynomial GroupTokensOp::flops() { return {}; }

bool GroupGemmOp::acceptsStride() { return true; }
BUFFER_OP(GroupGemmOp,
          (SmallVector<Value>{getInput(), getInputScales(), getOffsets()}),
          std::nullopt,
          Polynomial(2) * getElementCount(getOuts()) *
              getSizes(getInput()).back())

bool CombineGroupsOp::acceptsStride() { return true; }
SmallVector<Value> CombineGroupsOp::readBuffers() {
  return {getInput(), getPositions(), getScales()};
}
SmallVector<Value> CombineGroupsOp::writtenBuffers() { return {getOuts()}; }
/// Any row in the input may belong to a token, so no rows are owned if input
/// and outs have equally many rows.
std::optional<Polynomial> CombineGroupsOp::ownedRows() {
  Polynomial rows = getBufferType(getOuts()).getRowCount();
  if (getBufferType(getInput()).getRowCount() == rows)
    return std::nullopt;
  return rows;
}
Polynomial CombineGroupsOp::flops() {
  return Polynomial(2) * product(getSizes(getOuts())) *
         getSizes(getPositions()).back();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult BoundedSizeOp::verify() {
  if (failed(verifySize({*this, 1}, "bound", getBound())))
    return failure();
  if (!getParsedBound().coversCoefficients(Polynomial()))
    return Constraint{*this, 1}.expects()
           << "a bound without negative terms, got '" << getBound() << "'";
  return success();
}

LogicalResult BoundedSizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (const std::string &name : getParsedBound().symbols())
    if (symbols.lookupNearestSymbolFrom<BoundedSizeOp>(
            *this, StringAttr::get(getContext(), name)))
      return Constraint{*this, 2}.expects()
             << "a bound without bounded sizes, got '" << name << "'";
  return success();
}

/// Fails unless a buffer is dense i64.
static LogicalResult verifyTable(Constraint constraint, const char *name,
                                 Value buffer) {
  if (isDense(buffer) && getBufferType(buffer).getElementType().isInteger(64))
    return success();
  return constraint.expects()
         << "a dense buffer of i64 as " << name << ", got " << buffer.getType();
}

LogicalResult GroupTokensOp::verify() {
  Type element = getBufferType(getGroups()).getElementType();
  if (!(element.isInteger(64) || element.isInteger(32)) ||
      getSizes(getGroups()).size() != 2 || !isDense(getGroups()))
    return Constraint{*this, 1}.expects()
           << "a dense buffer of i32 or i64 of rank 2 as groups, got "
           << getGroups().getType();
  if (failed(verifyTable({*this, 2}, "tokens", getTokens())) ||
      failed(verifyTable({*this, 3}, "offsets", getOffsets())) ||
      failed(verifyTable({*this, 4}, "positions", getPositions())))
    return failure();
  Sizes tokens = getSizes(getTokens());
  if (tokens.size() != 1 || tokens[0] != Polynomial::symbol(getSize().str()))
    return Constraint{*this, 2}.expects()
           << "tokens of size [" << getSize() << "], got " << text(tokens);
  Sizes offsets = getSizes(getOffsets());
  if (offsets.size() != 1 || offsets[0].constant().value_or(0) < 2)
    return Constraint{*this, 3}.expects()
           << "offsets of a constant size of at least 2, got " << text(offsets);
  return verifySameSizes({*this, 4}, "groups and positions", getGroups(),
                         getPositions());
}

LogicalResult GroupTokensOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size =
      symbols.lookupNearestSymbolFrom<BoundedSizeOp>(*this, getSizeAttr());
  if (!size)
    return Constraint{*this, 5}.expects()
           << "a bounded size, got '" << getSize() << "'";
  Polynomial entries = product(getSizes(getGroups()));
  if (!size.getParsedBound().coversCoefficients(entries))
    return Constraint{*this, 6}.expects()
           << "a bound of at least '" << entries.str() << "' for '" << getSize()
           << "', got '" << size.getBound() << "'";
  return success();
}

/// Constraints 1, 2 and 5: operands from the artifact.
static LogicalResult verifyGroupWeights(GroupGemmOp op) {
  WeightType type = op.getWeight().getType();
  ArrayRef<int64_t> splits = type.getSplits();
  if (type.getShape().size() != 2 || splits.empty() || !llvm::all_equal(splits))
    return Constraint{op, 1}.expects()
           << "a weight [groups*n, k] with equal splits, got " << type;
  if (failed(verifyLayout({op, 1}, "the weight", op.getWeight(),
                          WeightLayout::Panels32)))
    return failure();
  if (int64_t longest = getMaxKBlock(type); type.getShape()[1] > longest)
    return Constraint{op, 2}.expects()
           << "a k of at most " << longest << ", got " << type.getShape()[1];
  if (!op.getBias())
    return success();
  if (failed(verifyVector({op, 5}, "a bias", op.getBias(), type.getShape()[0],
                          WeightLayout::Padded32)))
    return failure();
  if (llvm::cast<WeightType>(op.getBias().getType()).getSplits() != splits)
    return Constraint{op, 5}.expects() << "weight and bias with equal splits";
  return success();
}

LogicalResult GroupGemmOp::verify() {
  if (failed(verifyGroupWeights(*this)))
    return failure();
  // Compare the sizes of input and outs.
  WeightType type = getWeight().getType();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (input.size() != 2 || outs.size() != 2 || input[0] != outs[0] ||
      input[1] != Polynomial(type.getShape()[1]) ||
      outs[1] != Polynomial(getGroupColumns()))
    return Constraint{*this, 3}.expects()
           << "an input [rows, " << type.getShape()[1] << "] and outs [rows, "
           << getGroupColumns() << "], got " << text(input) << " and "
           << text(outs);
  // Check types and scales.
  if ((!isQuantized(getInput()) &&
       failed(verifyRowsOfFloat({*this, 4}, "the input", getInput()))) ||
      failed(verifyRowsOfFloat({*this, 4}, "outs", getOuts())) ||
      failed(verifyProductInput(*this, 4, 8, 9)))
    return failure();
  // Check the offsets, and that the input is not overwritten.
  if (failed(verifyTable({*this, 6}, "offsets", getOffsets())))
    return failure();
  Sizes offsets = getSizes(getOffsets());
  int64_t numGroups = type.getSplits().size();
  if (offsets.size() != 1 || offsets[0] != Polynomial(numGroups + 1))
    return Constraint{*this, 6}.expects()
           << "offsets of size [" << numGroups + 1 << "], got "
           << text(offsets);
  if (getStorage(getInput()) == getStorage(getOuts()))
    return Constraint{*this, 7}.expects()
           << "outs in other memory than the input";
  return success();
}

LogicalResult CombineGroupsOp::verify() {
  if (failed(verifyRowsOfF32({*this, 1}, "the input", getInput())) ||
      failed(verifyRowsOfF32({*this, 1}, "outs", getOuts())))
    return failure();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (input.size() != 2 || outs.size() != 2 || input[1] != outs[1])
    return Constraint{*this, 1}.expects()
           << "input and outs of rank 2 with equal last sizes, got "
           << text(input) << " and " << text(outs);
  if (failed(verifyTable({*this, 2}, "positions", getPositions())))
    return failure();
  Sizes positions = getSizes(getPositions());
  if (positions.size() != 2 || positions[0] != outs[0] ||
      !positions[1].constant())
    return Constraint{*this, 2}.expects()
           << "positions with the rows of outs and a constant number of "
              "columns, got "
           << text(positions);
  if (failed(verifyRowsOfF32({*this, 3}, "scales", getScales())))
    return failure();
  if (!isDense(getScales()))
    return Constraint{*this, 3}.expects()
           << "dense scales, got " << getScales().getType();
  return verifySameSizes({*this, 3}, "positions and scales", getPositions(),
                         getScales());
}
