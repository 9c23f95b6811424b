// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers and phases: the layer table, its assembly form, and the verifiers.
// Constraint numbers refer to the op descriptions.
#include "dialects/kern/KernControlOps.h"
#include "dialects/common/LayerList.h"
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

void LayersOp::build(OpBuilder &builder, OperationState &state, Value buffer,
                     ValueRange invariants, ArrayRef<LayerAttr> layers) {
  SmallVector<Attribute> all(layers.begin(), layers.end());
  build(builder, state, buffer, invariants, builder.getArrayAttr(all));
}

void LayersOp::setLayers(ArrayRef<LayerAttr> layers) {
  SmallVector<Attribute> all(layers.begin(), layers.end());
  setLayersAttr(ArrayAttr::get(getContext(), all));
}

func::FuncOp LayersOp::getBody(LayerAttr layer,
                               SymbolTableCollection &symbols) {
  return symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, layer.getBody());
}

func::FuncOp LayersOp::getBody(LayerAttr layer, const SymbolTable &symbols) {
  return symbols.lookup<func::FuncOp>(layer.getBody().getValue());
}

unsigned LayersOp::getParameterIndex(Value argument) {
  return llvm::cast<BlockArgument>(argument).getArgNumber() -
         getFirstParameter();
}

FlatSymbolRefAttr LayersOp::getParameter(LayerAttr layer, Value argument) {
  return layer.getParameters()[getParameterIndex(argument)];
}

//===----------------------------------------------------------------------===//
// Assembly
//===----------------------------------------------------------------------===//

ParseResult kern::parseLayers(OpAsmParser &parser, ArrayAttr &layers) {
  return parseLayerList<LayerAttr>(parser, layers);
}

void kern::printLayers(OpAsmPrinter &printer, Operation *, ArrayAttr layers) {
  printLayerList<LayerAttr>(printer, layers);
}

// ===----------------------------------------------------------------------===//
// Layers verifier
// ===----------------------------------------------------------------------===//

/// Checks a layer body and its argument types.
static LogicalResult verifyLayer(LayersOp op, LayerAttr layer,
                                 SymbolTableCollection &symbols) {
  func::FuncOp body = op.getBody(layer, symbols);
  if (!body || body.getNumResults())
    return Constraint{op, 1}.expects()
           << "a function without results as body, got '"
           << layer.getBody().getValue() << "'";

  // The operand types, then the weight and cache types.
  SmallVector<Type> types(op->getOperandTypes());
  for (FlatSymbolRefAttr parameter : layer.getParameters()) {
    Operation *definition = symbols.lookupNearestSymbolFrom(op, parameter);
    if (auto weight = llvm::dyn_cast_or_null<WeightOp>(definition))
      types.push_back(weight.getType());
    else if (auto cache = llvm::dyn_cast_or_null<CacheOp>(definition))
      types.push_back(cache.getType());
    else
      return Constraint{op, 3}.expects()
             << "a weight or cache, got '" << parameter.getValue() << "'";
  }
  if (TypeRange(body.getArgumentTypes()) != TypeRange(types))
    return Constraint{op, 2}.expects()
           << "a body that takes the state, the invariants and the layer's "
              "parameters; '"
           << layer.getBody().getValue() << "' does not";
  return success();
}

LogicalResult LayersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (LayerAttr layer : getLayerRange())
    if (failed(verifyLayer(*this, layer, symbols)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

OneDnnOp PhaseOp::getCall() {
  Block &body = getBody().front();
  return llvm::hasSingleElement(body) ? llvm::dyn_cast<OneDnnOp>(body.front())
                                      : OneDnnOp();
}

PhaseOp PhaseOp::getJoinedPhase() {
  return getHeadRanges()
             ? llvm::dyn_cast_or_null<PhaseOp>((*this)->getPrevNode())
             : PhaseOp();
}

/// Constraints 5 and 6: requirements of `head_ranges` on a single phase.
static LogicalResult verifyHeadRanges(PhaseOp phase) {
  std::optional<int64_t> ranges = phase.getHeadRanges();
  if (!ranges)
    return success();
  // The phase is one attention without a cache.
  Block &body = phase.getBody().front();
  auto attention = llvm::hasSingleElement(body)
                       ? llvm::dyn_cast<AttentionOp>(body.front())
                       : AttentionOp();
  if (!attention || attention.getCache() || !phase.getJoinedPhase())
    return Constraint{phase, 5}.expects()
           << "one 'kern.attention' without a cache, after a phase";
  // The ranges divide the heads, and begin at panels.
  if (*ranges <= 0 || attention.getKvHeads() % *ranges)
    return Constraint{phase, 5}.expects()
           << "'head_ranges' that divide the " << attention.getKvHeads()
           << " heads of the keys, got " << *ranges;
  const std::initializer_list<Value> operands = {
      attention.getQuery(), attention.getKey(), attention.getValue()};
  for (Value operand : operands) {
    std::optional<int64_t> columns =
        llvm::cast<BufferType>(operand.getType()).getDims().back().constant();
    if (!columns || *columns % (*ranges * panelWidth))
      return Constraint{phase, 6}.expects()
             << "a multiple of " << panelWidth << " columns in each of "
             << *ranges << " ranges, got " << operand.getType();
  }
  return success();
}

/// Constraint 4: a size written by a phase operation is available only after
/// the phase.
static LogicalResult verifyWrittenSizes(Block &body) {
  for (auto writer : body.getOps<BufferOp>()) {
    FlatSymbolRefAttr size = writer.getWrittenSize();
    if (!size)
      continue;
    for (auto user : body.getOps<BufferOp>()) {
      if (user == writer)
        continue;
      for (Type type : user->getOperandTypes())
        if (auto buffer = llvm::dyn_cast<BufferType>(type))
          for (const Polynomial &dim : buffer.getDims())
            if (llvm::is_contained(dim.symbols(), size.getValue()))
              return mlir::emitError(user.getLoc())
                     << "'kern.phase' op (4) expects no use of the size '"
                     << size.getValue() << "', which the phase writes";
    }
  }
  return success();
}

LogicalResult PhaseOp::verify() {
  if (getName().empty())
    return Constraint{*this, 1}.expects() << "a name";
  for (Operation &op : getBody().front())
    if (!llvm::isa<BufferOp>(op))
      return mlir::emitError(op.getLoc())
             << "'kern.phase' op (2) expects operations on buffers, got '"
             << op.getName() << "'";
  for (auto call : getBody().front().getOps<OneDnnOp>())
    if (!getCall())
      return mlir::emitError(call.getLoc())
             << "'kern.phase' op (3) expects nothing beside 'kern.onednn'";
  if (failed(verifyWrittenSizes(getBody().front())))
    return failure();
  return verifyHeadRanges(*this);
}
