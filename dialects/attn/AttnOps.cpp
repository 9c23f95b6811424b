// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verification beyond shape rules: weights and their users, constants, ragged
// batches, and layer table entries.
#include "dialects/attn/AttnAssembly.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;

namespace transom::attn {

/// True if the types have equal sizes and element types; encodings may differ.
static bool sameSizes(Type a, Type b) {
  auto left = dyn_cast<RankedTensorType>(a);
  auto right = dyn_cast<RankedTensorType>(b);
  return left && right && left.getElementType() == right.getElementType() &&
         left.getShape() == right.getShape();
}

void WeightOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     Type type, const WeightExpr &expr) {
  build(builder, state, builder.getStringAttr(name), TypeAttr::get(type),
        weights::ExprAttr::get(builder.getContext(), expr));
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return emitOpError() << "(1) expects '" << getWeight()
                         << "' to be an 'attn.weight'";
  if (!sameSizes(weight.getType(), getResult().getType()))
    return emitOpError() << "(2) expects weight '" << getWeight()
                         << "' to have type " << weight.getType() << ", got "
                         << getResult().getType();
  return success();
}

LogicalResult GetCacheOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto cache = symbols.lookupNearestSymbolFrom<CacheOp>(*this, getCacheAttr());
  if (!cache)
    return emitOpError() << "(1) expects '" << getCache()
                         << "' to be an 'attn.cache'";
  if (cache.getType() != getResult().getType())
    return emitOpError() << "(2) expects cache '" << getCache()
                         << "' to have type " << cache.getType() << ", got "
                         << getResult().getType();
  return success();
}

LogicalResult
ConstantOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange,
                             DictionaryAttr, OpaqueProperties properties,
                             RegionRange, SmallVectorImpl<Type> &types) {
  types.push_back(properties.as<Properties *>()->getValue().getType());
  return success();
}

/// `verify` checks the type, which may have another encoding.
LogicalResult ConstantOp::refineReturnTypes(MLIRContext *,
                                            std::optional<Location>, ValueRange,
                                            DictionaryAttr, OpaqueProperties,
                                            RegionRange,
                                            SmallVectorImpl<Type> &) {
  return success();
}

LogicalResult ConstantOp::verify() {
  if (sameSizes(getValue().getType(), getResult().getType()))
    return success();
  return emitOpError() << "(1) expects a result of type "
                       << getValue().getType() << ", got "
                       << getResult().getType();
}

LogicalResult RaggedBatchOp::verify() {
  auto mask = dyn_cast<RankedTensorType>(getMask().getType());
  if (!mask)
    return success();
  if (mask.getRank() != 2 || !(mask.getElementType().isInteger(1) ||
                               mask.getElementType().isInteger(64)))
    return emitOpError() << "(1) expects a bool or i64 mask of rank 2, got "
                         << mask;
  return success();
}

/// Compares a type in a body's signature with the type from `attn.layers`.
static LogicalResult checkBodyType(LayersOp op, StringRef body, StringRef what,
                                   Type expected, Type got) {
  if (expected == got || sameSizes(expected, got))
    return success();
  return op.emitOpError() << "(2) expects body '" << body << "' to have "
                          << what << " " << expected << ", got " << got;
}

/// Constraint 2: the body is private and takes state, invariants and weights.
static LogicalResult checkBody(LayersOp op, LayerAttr layer,
                               func::FuncOp body) {
  StringRef name = layer.getBody().getValue();
  if (!body || !body.isPrivate())
    return op.emitOpError()
           << "(2) expects body '" << name << "' to be a private 'func.func'";
  FunctionType type = body.getFunctionType();
  size_t expected = op.getFirstParameter() + layer.getParameters().size();
  if (type.getNumInputs() != expected || type.getNumResults() != 1)
    return op.emitOpError()
           << "(2) expects body '" << name << "' to have " << expected
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

/// Constraint 3 for one layer weight or cache.
static LogicalResult checkParameter(LayersOp op, FlatSymbolRefAttr symbol,
                                    Type parameter,
                                    SymbolTableCollection &symbols) {
  Operation *definition = symbols.lookupNearestSymbolFrom(op, symbol);
  auto weight = dyn_cast_or_null<WeightOp>(definition);
  auto cache = dyn_cast_or_null<CacheOp>(definition);
  if (!weight && !cache)
    return op.emitOpError() << "(3) expects '" << symbol.getValue()
                            << "' to be an 'attn.weight' or 'attn.cache'";
  Type type = weight ? Type(weight.getType()) : Type(cache.getType());
  if (weight ? sameSizes(type, parameter) : type == parameter)
    return success();
  return op.emitOpError() << "(3) expects " << (weight ? "weight" : "cache")
                          << " '" << symbol.getValue() << "' to have type "
                          << parameter << ", got " << type;
}

/// Constraints 2 and 3 for one layer.
static LogicalResult checkLayer(LayersOp op, LayerAttr layer,
                                SymbolTableCollection &symbols) {
  func::FuncOp body = op.getBody(layer, symbols);
  if (failed(checkBody(op, layer, body)))
    return failure();
  ArrayRef<Type> parameters =
      body.getFunctionType().getInputs().drop_front(op.getFirstParameter());
  for (auto [symbol, type] : llvm::zip_equal(layer.getParameters(), parameters))
    if (failed(checkParameter(op, symbol, type, symbols)))
      return failure();
  return success();
}

func::FuncOp LayersOp::getBody(LayerAttr layer,
                               SymbolTableCollection &symbols) {
  return symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, layer.getBody());
}

LogicalResult LayersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (getLayers().empty())
    return emitOpError() << "(1) expects at least one layer";
  for (LayerAttr layer : getLayerRange())
    if (failed(checkLayer(*this, layer, symbols)))
      return failure();
  return success();
}

} // namespace transom::attn

#define GET_OP_CLASSES
#include "dialects/attn/AttnOps.cpp.inc"
