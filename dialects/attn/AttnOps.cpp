// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of attn operations that are not shape rules: weights and their users,
// constants, ragged, and the rows of a layer table.
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace transom::attn {

/// True when the types have the same sizes and element type, whatever stands
/// as encoding.
static bool sameSizes(Type a, Type b) {
  auto left = dyn_cast<RankedTensorType>(a);
  auto right = dyn_cast<RankedTensorType>(b);
  return left && right && left.getElementType() == right.getElementType() &&
         left.getShape() == right.getShape();
}

LogicalResult WeightOp::verify() {
  Result<WeightExpr> expr = WeightExpr::parse(getExpr().str());
  if (!expr)
    return emitOpError() << "'" << getSymName()
                         << "' has an expression that does not parse: "
                         << expr.error().message;
  return success();
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError() << "expects '" << getWeight()
                         << "' to be an 'attn.weight'";
  if (!sameSizes(weight.getType(), getResult().getType()))
    return emitOpError() << "expects weight '" << getWeight()
                         << "' to have type " << weight.getType() << ", got "
                         << getResult().getType();
  return success();
}

LogicalResult GetCacheOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto cache = symbols.lookupNearestSymbolFrom<CacheOp>(*this, getCacheAttr());
  if (!cache)
    return emitOpError() << "expects '" << getCache()
                         << "' to be an 'attn.cache'";
  if (cache.getType() != getResult().getType())
    return emitOpError() << "expects cache '" << getCache() << "' to have type "
                         << cache.getType() << ", got "
                         << getResult().getType();
  return success();
}

LogicalResult ConstantOp::verify() {
  if (sameSizes(getValue().getType(), getResult().getType()))
    return success();
  return emitOpError() << "expects a result of type " << getValue().getType()
                       << ", got " << getResult().getType();
}

LogicalResult RaggedBatchOp::verify() {
  auto mask = dyn_cast<RankedTensorType>(getMask().getType());
  if (!mask)
    return success();
  if (mask.getRank() != 2 || !(mask.getElementType().isInteger(1) ||
                               mask.getElementType().isInteger(64)))
    return emitOpError() << "expects a bool or i64 mask of rank 2, got "
                         << mask;
  return success();
}

/// Compares one type of a body's signature with what `attn.layers` gives it.
static LogicalResult checkBodyType(LayersOp op, StringRef body, StringRef what,
                                   Type expected, Type got) {
  if (expected == got || sameSizes(expected, got))
    return success();
  return op.emitOpError() << "expects body '" << body << "' to have " << what
                          << " " << expected << ", got " << got;
}

/// Rule 2: the body is private and takes state, invariants and weights.
static LogicalResult checkBody(LayersOp op, RowAttr row, func::FuncOp body) {
  StringRef name = row.getBody().getValue();
  if (!body || !body.isPrivate())
    return op.emitOpError()
           << "expects body '" << name << "' to be a private 'func.func'";
  FunctionType type = body.getFunctionType();
  size_t expected = 1 + op.getInvariants().size() + row.getWeights().size();
  if (type.getNumInputs() != expected || type.getNumResults() != 1)
    return op.emitOpError()
           << "expects body '" << name << "' to have " << expected
           << " parameters and 1 result, got " << type.getNumInputs() << " and "
           << type.getNumResults();
  Type state = op.getState().getType();
  if (failed(checkBodyType(op, name, "a state of type", state,
                           type.getInput(0))) ||
      failed(checkBodyType(op, name, "a result of type", state,
                           type.getResult(0))))
    return failure();
  for (auto [index, value] : llvm::enumerate(op.getInvariants()))
    if (failed(checkBodyType(op, name, "an invariant of type", value.getType(),
                             type.getInput(1 + index))))
      return failure();
  return success();
}

/// Rule 3 for one weight or cache of a row.
static LogicalResult checkRowSymbol(LayersOp op, FlatSymbolRefAttr symbol,
                                    Type parameter,
                                    SymbolTableCollection &symbols) {
  Operation *definition = symbols.lookupNearestSymbolFrom(op, symbol);
  auto weight = dyn_cast_or_null<WeightOp>(definition);
  auto cache = dyn_cast_or_null<CacheOp>(definition);
  if (!weight && !cache)
    return op.emitOpError() << "expects '" << symbol.getValue()
                            << "' to be an 'attn.weight' or 'attn.cache'";
  Type type = weight ? Type(weight.getType()) : Type(cache.getType());
  if (weight ? sameSizes(type, parameter) : type == parameter)
    return success();
  return op.emitOpError() << "expects " << (weight ? "weight" : "cache") << " '"
                          << symbol.getValue() << "' to have type " << parameter
                          << ", got " << type;
}

/// Rules 1 to 3 for one row.
static LogicalResult checkRow(LayersOp op, Attribute attribute,
                              SymbolTableCollection &symbols) {
  auto row = dyn_cast<RowAttr>(attribute);
  if (!row)
    return op.emitOpError() << "expects rows of '#attn.row', got " << attribute;
  auto body = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, row.getBody());
  if (failed(checkBody(op, row, body)))
    return failure();
  for (auto [index, symbol] : llvm::enumerate(row.getWeights())) {
    Type parameter =
        body.getFunctionType().getInput(1 + op.getInvariants().size() + index);
    if (failed(checkRowSymbol(op, symbol, parameter, symbols)))
      return failure();
  }
  return success();
}

LogicalResult LayersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getRows().empty())
    return emitOpError() << "expects at least one row";
  if (getState().getType() != getResult().getType())
    return emitOpError() << "expects one type for state and result, got "
                         << getState().getType() << " and "
                         << getResult().getType();
  for (Attribute row : getRows())
    if (failed(checkRow(*this, row, symbols)))
      return failure();
  return success();
}

} // namespace transom::attn

#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.cpp.inc"
