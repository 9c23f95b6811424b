// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixed point over all operations in a module, in forward order: modules are
// small.
#include "test/mutation/LiveOperations.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace transom::testing {

LiveOperations::LiveOperations(ModuleOp module)
    : module(module), symbols(module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto inputs = function->getAttrOfType<IntegerAttr>("kern.inputs");
    if (!function.isPublic() || function.isExternal())
      continue;
    operations.insert(function);
    for (unsigned i = inputs ? inputs.getInt() : function.getNumArguments();
         i < function.getNumArguments(); ++i)
      add(function.getArgument(i));
    add(function.getBody().front().getTerminator());
  }
  do {
    changed = false;
    visit();
  } while (changed);
}

void LiveOperations::add(Value value) {
  changed |= values.insert(value).second;
  if (isa<kern::BufferType>(value.getType()))
    changed |= values.insert(kern::getStorage(value)).second;
  if (Operation *op = value.getDefiningOp())
    add(op);
}

void LiveOperations::add(Operation *op) {
  if (!operations.insert(op).second)
    return;
  changed = true;
  for (Value operand : op->getOperands())
    add(operand);
}

bool LiveOperations::hasEffect(Operation *op) const {
  if (isa<attn::AppendOp, kern::AppendOp>(op))
    return true;
  if (auto buffers = dyn_cast<kern::BufferOp>(op))
    return buffers.getWrittenSize() ||
           llvm::any_of(buffers.writtenBuffers(), [&](Value buffer) {
             return values.count(kern::getStorage(buffer));
           });
  // Layers work on buffers; a phase is live with its contents.
  return isa<kern::LayersOp>(op) ||
         (isa<kern::PhaseOp>(op) &&
          llvm::any_of(cast<kern::PhaseOp>(op).getBody().getOps(),
                       [&](Operation &inner) { return contains(&inner); }));
}

/// Body arguments and the corresponding call site operands live together.
void LiveOperations::addBodies(Operation *layers) {
  // Operands and body arguments pass liveness in both directions.
  auto connect = [&](func::FuncOp body, ArrayRef<FlatSymbolRefAttr> names) {
    for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
      const bool ofLayer = i >= layers->getNumOperands();
      if (!ofLayer && values.count(layers->getOperand(i)))
        add(argument);
      if (!values.count(argument))
        continue;
      if (!ofLayer)
        add(layers->getOperand(i));
      else if (Operation *symbol = symbols.lookup(
                   names[i - layers->getNumOperands()].getValue()))
        add(symbol);
    }
    operations.insert(body);
    if (!isa<kern::LayersOp>(layers))
      add(body.getBody().front().getTerminator());
  };
  // Each layer names its body and its parameters.
  if (auto op = dyn_cast<attn::LayersOp>(layers))
    for (attn::LayerAttr layer : op.getLayerRange())
      connect(symbols.lookup<func::FuncOp>(layer.getBody().getValue()),
              layer.getParameters());
  if (auto op = dyn_cast<kern::LayersOp>(layers))
    for (kern::LayerAttr layer : op.getLayerRange())
      connect(symbols.lookup<func::FuncOp>(layer.getBody().getValue()),
              layer.getParameters());
}

void LiveOperations::visit() {
  module.walk([&](Operation *op) {
    if (!contains(op) && !hasEffect(op))
      return;
    add(op);
    if (isa<attn::LayersOp, kern::LayersOp>(op))
      addBodies(op);
    if (auto elementwise = dyn_cast<kern::ElementwiseOp>(op))
      add(&elementwise.getBody().front().back());
    for (const char *name : {"weight", "cache"})
      if (auto symbol = op->getAttrOfType<FlatSymbolRefAttr>(name))
        if (Operation *definition = symbols.lookup(symbol.getValue()))
          add(definition);
  });
}

} // namespace transom::testing
