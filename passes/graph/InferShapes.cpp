// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types flow forward: when an operation is visited, its operands are ranked,
// since functions have no control flow. A layer body is a function whose
// parameter types are known at the first operation that runs it.
#include "passes/graph/GraphSupport.h"
#include "passes/graph/Passes.h"

#define DEBUG_TYPE "attn-infer-shapes"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_INFERSHAPESPASS
#include "passes/graph/Passes.h.inc"

namespace {

/// Infers types in one module's functions.
class ShapeInference {
public:
  explicit ShapeInference(ModuleOp module) : symbols(module) {}

  LogicalResult inferFunction(func::FuncOp function);
  /// Counts results that were unranked before.
  int64_t refinedResults() const { return refined; }

private:
  LogicalResult inferOp(Operation *op);
  LogicalResult inferLayers(LayersOp op);
  LogicalResult inferLayer(LayersOp op, LayerAttr layer);
  LogicalResult checkRefined(Operation *op, ArrayRef<Type> before);

  SymbolTable symbols;
  DenseSet<Operation *> done; // bodies
  int64_t refined = 0;
};

InFlightDiagnostic errorAt(Operation *op) {
  InFlightDiagnostic error = op->emitOpError();
  if (std::string location = getModulePath(op->getLoc()); !location.empty())
    error << "at '" << location << "' ";
  return error;
}

/// A written type may lack the encoding of a static shape; otherwise it must
/// match.
bool isSameType(Type written, Type inferred) {
  if (written == inferred)
    return true;
  auto a = cast<RankedTensorType>(written),
       b = cast<RankedTensorType>(inferred);
  return a.hasStaticShape() && a.getShape() == b.getShape() &&
         a.getElementType() == b.getElementType();
}

LogicalResult ShapeInference::checkRefined(Operation *op,
                                           ArrayRef<Type> before) {
  for (auto [type, result] : llvm::zip_equal(before, op->getResults())) {
    if (isa<UnrankedTensorType>(type))
      ++refined;
    else if (!isSameType(type, result.getType()))
      return errorAt(op) << "has a result of type " << type
                         << ", its operands give " << result.getType();
  }
  return success();
}

LogicalResult ShapeInference::inferOp(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<UnrankedTensorType>(operand.getType()))
      return errorAt(op) << "has an operand whose shape is unknown";
  if (auto layers = dyn_cast<LayersOp>(op))
    return inferLayers(layers);
  if (!isa<ShapeInferable>(op)) {
    for (Value result : op->getResults())
      if (isa<UnrankedTensorType>(result.getType()))
        return errorAt(op) << "has an unranked result and no shape rule";
    return success();
  }
  SmallVector<Type> before(op->getResultTypes());
  if (failed(setInferredTypes(op)))
    return failure();
  return checkRefined(op, before);
}

LogicalResult ShapeInference::inferLayer(LayersOp op, LayerAttr layer) {
  auto body = symbols.lookup<func::FuncOp>(layer.getBody().getValue());
  if (!body || body.isDeclaration() || !done.insert(body).second)
    return success(); // a missing body is the verifier's error
  Block &block = body.getBody().front();
  SmallVector<Type> inputs = {op.getState().getType()};
  llvm::append_range(inputs, op.getInvariants().getTypes());
  for (auto [type, argument] : llvm::zip(inputs, block.getArguments()))
    argument.setType(type);
  if (failed(inferFunction(body)))
    return failure();
  Type result = body.getFunctionType().getResult(0);
  if (result == op.getState().getType())
    return success();
  return errorAt(op) << "has a state of type " << op.getState().getType()
                     << ", its body '" << body.getName() << "' gives "
                     << result;
}

LogicalResult ShapeInference::inferLayers(LayersOp op) {
  for (LayerAttr layer : op.getLayerRange())
    if (failed(inferLayer(op, layer)))
      return failure();
  Type before = op.getResult().getType();
  op.getResult().setType(op.getState().getType());
  return checkRefined(op, before);
}

LogicalResult ShapeInference::inferFunction(func::FuncOp function) {
  Block &block = function.getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (isa<UnrankedTensorType>(argument.getType()))
      return errorAt(function) << "has an argument whose shape is unknown";
  for (Operation &op : block.without_terminator())
    if (failed(inferOp(&op)))
      return failure();
  function.setType(FunctionType::get(function.getContext(),
                                     block.getArgumentTypes(),
                                     block.getTerminator()->getOperandTypes()));
  return success();
}

class InferShapesPass : public impl::InferShapesPassBase<InferShapesPass> {
public:
  void runOnOperation() override {
    ShapeInference inference(getOperation());
    for (func::FuncOp entry : getEntries(getOperation()))
      if (failed(inference.inferFunction(entry)))
        return signalPassFailure();
    refined += inference.refinedResults();
  }
};

} // namespace
} // namespace transom
