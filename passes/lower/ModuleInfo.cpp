// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `kern.layers` calls layer bodies; its table specifies the body, weights and
// caches for each layer.
#include "passes/lower/ModuleInfo.h"

using namespace mlir;
using namespace transom;
using namespace transom::lower;

ModuleInfo::ModuleInfo(ModuleOp module, Remarks &remarks)
    : symbols(module), remarks(remarks) {
  module.walk([&](kern::LayersOp layers) {
    for (kern::LayerAttr layer : layers.getLayerRange())
      callSites[layers.getBody(layer, symbols)] = layers;
  });
  for (auto function : module.getOps<func::FuncOp>())
    findNextProducts(function);
}

void ModuleInfo::findNextProducts(func::FuncOp function) {
  // Visit the phases from last to first, so that each is visited once.
  SmallVector<kern::PhaseOp> phases;
  function.walk<WalkOrder::PreOrder>([&](kern::PhaseOp phase) {
    phases.push_back(phase);
    return WalkResult::skip();
  });
  kern::GemmOp next;
  for (kern::PhaseOp phase : llvm::reverse(phases)) {
    nextProducts[phase] = {next, false};
    auto products = phase.getOps<kern::GemmOp>();
    if (!products.empty())
      next = *products.begin();
  }
  // After the last GEMM comes the first GEMM in the next layer.
  if (!next || !isa<BlockArgument>(next.getWeight()))
    next = kern::GemmOp();
  for (kern::PhaseOp phase : phases)
    if (!nextProducts[phase].first)
      nextProducts[phase] = {next, true};
}

std::pair<kern::GemmOp, bool>
ModuleInfo::getNextProduct(kern::GemmOp op) const {
  return nextProducts.at(op->getParentOp());
}

Value ModuleInfo::getStorage(Value buffer) const {
  while (true) {
    buffer = kern::getStorage(buffer);
    auto argument = dyn_cast<BlockArgument>(buffer);
    if (!argument)
      return buffer;
    auto site = callSites.find(argument.getOwner()->getParentOp());
    if (site == callSites.end())
      return buffer;
    // The operands of layers are the state and the invariants, in this order.
    kern::LayersOp layers = site->second;
    buffer = layers->getOperand(argument.getArgNumber());
  }
}

func::FuncOp ModuleInfo::getEntry(func::FuncOp function) const {
  auto site = callSites.find(function);
  if (site == callSites.end())
    return function;
  kern::LayersOp layers = site->second;
  return getEntry(layers->getParentOfType<func::FuncOp>());
}

int64_t ModuleInfo::getSymbolIndex(func::FuncOp entry, StringRef name) const {
  for (auto [i, symbol] :
       llvm::enumerate(entry->getAttrOfType<ArrayAttr>("kern.symbols")))
    if (cast<StringAttr>(symbol).getValue() == name)
      return i;
  return -1;
}

int64_t ModuleInfo::getWeightOffset(FlatSymbolRefAttr weight) const {
  auto definition = cast<kern::WeightOp>(symbols.lookup(weight.getValue()));
  return definition.getOffset().value_or(0);
}

kern::CacheOp ModuleInfo::getCache(Value cache) const {
  FlatSymbolRefAttr name;
  if (auto definition = cache.getDefiningOp<kern::GetCacheOp>()) {
    name = definition.getCacheAttr();
  } else {
    // Find the first layer that calls the body with this parameter.
    auto parameter = cast<BlockArgument>(cache);
    auto body = cast<func::FuncOp>(parameter.getOwner()->getParentOp());
    kern::LayersOp layers = callSites.find(body)->second;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      if (layer.getBody().getAttr() != body.getSymNameAttr())
        continue;
      name = layers.getParameter(layer, parameter);
      break;
    }
  }
  return cast<kern::CacheOp>(symbols.lookup(name.getValue()));
}

int64_t ModuleInfo::getOffsetIndex(BlockArgument parameter) const {
  kern::LayersOp layers =
      callSites.find(parameter.getOwner()->getParentOp())->second;
  return layers.getParameterIndex(parameter);
}

int64_t ModuleInfo::getNumOffsets(BlockArgument parameter) const {
  return parameter.getOwner()->getNumArguments() - parameter.getArgNumber() +
         getOffsetIndex(parameter);
}
