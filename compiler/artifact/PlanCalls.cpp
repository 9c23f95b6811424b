// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated code finds its operands through the frame; for library calls the
// runtime needs their locations: arena slots, arguments, weight offsets.
#include "compiler/artifact/PlanCalls.h"

using namespace mlir;
using namespace transom;

/// Returns the layers operand that a body argument stands for, or the value
/// itself.
static Value atSite(Value value, kern::LayersOp site) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && site ? site->getOperand(argument.getArgNumber()) : value;
}

static ManifestOperand getOperand(Value buffer, kern::LayersOp site) {
  ManifestOperand operand;
  for (const Polynomial &dim :
       cast<kern::BufferType>(buffer.getType()).getDims())
    operand.shape.push_back(dim);
  Value owner = kern::getStorage(atSite(kern::getStorage(buffer), site));
  if (auto alloc = owner.getDefiningOp<kern::AllocOp>()) {
    operand.index = alloc.getSlot().value_or(0);
    return operand;
  }
  operand.isArgument = true;
  operand.index = cast<BlockArgument>(owner).getArgNumber();
  return operand;
}

static ManifestCallWeight getWeight(Value weight, kern::LayersOp site,
                                    const SymbolTable &symbols) {
  if (auto get = weight.getDefiningOp<kern::GetWeightOp>()) {
    auto definition = symbols.lookup<kern::WeightOp>(get.getWeight());
    return {false, int64_t(definition.getOffset().value_or(0))};
  }
  return {true, int64_t(site.getParameterIndex(weight))};
}

ManifestCall transom::planCall(kern::OneDnnOp op, kern::LayersOp site,
                               const SymbolTable &symbols) {
  ManifestCall call;
  call.primitive = stringifyOneDnnPrimitive(op.getPrimitive()).str();
  call.activation = getActivationName(op.getActivation());
  if (op.getEps())
    call.epsilon = op.getEps()->convertToDouble();
  call.input = getOperand(op.getInput(), site);
  call.out = getOperand(op.getOuts(), site);
  if (op.getRhs())
    call.rhs = getOperand(op.getRhs(), site);
  if (op.getResidual())
    call.residual = getOperand(op.getResidual(), site);
  for (auto [i, weight] : llvm::enumerate(op.getWeights()))
    (i == 0 ? call.weights : call.bias) = getWeight(weight, site, symbols);
  return call;
}
