// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounded sizes and groups of tokens: what the operations read and write, and
// their verifiers. Numbers are those of the rules in the descriptions.
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
  return rules::getBufferType(getOffsets())
             .getDims()[0]
             .constant()
             .value_or(1) -
         1;
}
SmallVector<Value> GroupTokensOp::readBuffers() { return {getGroups()}; }
SmallVector<Value> GroupTokensOp::writtenBuffers() {
  return {getTokens(), getOffsets(), getPositions()};
}
FlatSymbolRefAttr GroupTokensOp::getWrittenSize() { return getSizeAttr(); }
std::optional<Polynomial> GroupTokensOp::ownedRows() { return std::nullopt; }
Polynomial GroupTokensOp::flops() { return {}; }

bool CombineGroupsOp::acceptsStride() { return true; }
SmallVector<Value> CombineGroupsOp::readBuffers() {
  return {getInput(), getPositions(), getScales()};
}
SmallVector<Value> CombineGroupsOp::writtenBuffers() { return {getOuts()}; }
/// Any row of the input may be a token's. So no rows are owned if the input
/// has as many rows as outs.
std::optional<Polynomial> CombineGroupsOp::ownedRows() {
  Polynomial rows = rules::getBufferType(getOuts()).getRowCount();
  if (rules::getBufferType(getInput()).getRowCount() == rows)
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
  if (failed(verifySize(*this, "bound", getBound()))) // (1)
    return failure();
  if (!getParsedBound().coversCoefficients(Polynomial())) // (1)
    return emitOpError("expects a bound without negative terms, got '")
           << getBound() << "'";
  return success();
}

LogicalResult BoundedSizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (const std::string &name : getParsedBound().symbols())
    if (symbols.lookupNearestSymbolFrom<BoundedSizeOp>(
            *this, StringAttr::get(getContext(), name))) // (2)
      return emitOpError("expects a bound without bounded sizes, got '")
             << name << "'";
  return success();
}

/// Fails unless a buffer is dense and of i64.
static LogicalResult verifyTable(Operation *op, const char *name,
                                 Value buffer) {
  if (isDense(buffer) &&
      rules::getBufferType(buffer).getElementType().isInteger(64))
    return success();
  return op->emitOpError("expects a dense buffer of i64 as ")
         << name << ", got " << buffer.getType();
}

LogicalResult GroupTokensOp::verify() {
  Type element = rules::getBufferType(getGroups()).getElementType();
  if (!(element.isInteger(64) || element.isInteger(32)) ||
      getSizes(getGroups()).size() != 2 || !isDense(getGroups())) // (1)
    return emitOpError("expects a dense buffer of i32 or i64 of rank 2 as "
                       "groups, got ")
           << getGroups().getType();
  if (failed(verifyTable(*this, "tokens", getTokens())) ||
      failed(verifyTable(*this, "offsets", getOffsets())) ||
      failed(verifyTable(*this, "positions", getPositions())))
    return failure();
  Sizes tokens = getSizes(getTokens());
  if (tokens.size() != 1 ||
      tokens[0] != Polynomial::symbol(getSize().str())) // (2)
    return emitOpError("expects tokens of size [")
           << getSize() << "], got " << text(tokens);
  Sizes offsets = getSizes(getOffsets());
  if (offsets.size() != 1 || offsets[0].constant().value_or(0) < 2) // (3)
    return emitOpError("expects offsets of a constant size of at least 2, got ")
           << text(offsets);
  return verifySameSizes(*this, "groups and positions", getGroups(),
                         getPositions()); // (4)
}

LogicalResult GroupTokensOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto size =
      symbols.lookupNearestSymbolFrom<BoundedSizeOp>(*this, getSizeAttr());
  if (!size) // (5)
    return emitOpError("expects a bounded size, got '") << getSize() << "'";
  Polynomial entries = product(getSizes(getGroups()));
  if (!size.getParsedBound().coversCoefficients(entries)) // (6)
    return emitOpError("expects a bound of at least '")
           << entries.str() << "' for '" << getSize() << "', got '"
           << size.getBound() << "'";
  return success();
}

LogicalResult CombineGroupsOp::verify() {
  if (failed(verifyRowsOfF32(*this, "the input", getInput())) ||
      failed(verifyRowsOfF32(*this, "outs", getOuts()))) // (1)
    return failure();
  Sizes input = getSizes(getInput()), outs = getSizes(getOuts());
  if (input.size() != 2 || outs.size() != 2 || input[1] != outs[1]) // (1)
    return emitOpError("expects input and outs of rank 2 with equal last "
                       "sizes, got ")
           << text(input) << " and " << text(outs);
  if (failed(verifyTable(*this, "positions", getPositions())))
    return failure();
  Sizes positions = getSizes(getPositions());
  if (positions.size() != 2 || positions[0] != outs[0] ||
      !positions[1].constant()) // (2)
    return emitOpError("expects positions with the rows of outs and a constant "
                       "number of columns, got ")
           << text(positions);
  if (failed(verifyRowsOfF32(*this, "scales", getScales())))
    return failure();
  if (!isDense(getScales())) // (3)
    return emitOpError("expects dense scales, got ") << getScales().getType();
  return verifySameSizes(*this, "positions and scales", getPositions(),
                         getScales()); // (3)
}
