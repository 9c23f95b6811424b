// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that are computed differently, exchanged with others, or given to
// other layers. A change counts if it changes the weight's values in the random
// files.
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "test/mutation/LiveOperations.h"
#include "test/mutation/Mutations.h"

using namespace mlir;

namespace transom::testing {

/// The shape for a weight.
static std::vector<int64_t> getShape(Operation *op) {
  if (auto weight = dyn_cast<attn::WeightOp>(op)) {
    ArrayRef<int64_t> shape = cast<ShapedType>(weight.getType()).getShape();
    return {shape.begin(), shape.end()};
  }
  ArrayRef<int64_t> shape = cast<kern::WeightOp>(op).getType().getShape();
  return {shape.begin(), shape.end()};
}

static weights::ExprAttr getExpr(Operation *op) {
  return op->getAttrOfType<weights::ExprAttr>("expr");
}

/// The values in a weight; empty if it cannot be computed.
static std::vector<float> evaluate(const WeightExpr &expr,
                                   const std::vector<int64_t> &shape,
                                   const TensorSource &source) {
  auto found = expr.shape(source);
  if (!found || *found != shape)
    return {};
  std::vector<float> numbers(getNumElements(shape));
  if (!expr.evaluate(source, std::vector<int64_t>(shape.size()), shape,
                     numbers.data()))
    return {};
  return numbers;
}

/// The expression with rows or columns rotated by one.
static WeightExpr rotate(const WeightExpr &expr, int64_t axis, int64_t size) {
  return WeightExpr::concat(axis, {WeightExpr::slice(expr, axis, 1, size - 1),
                                   WeightExpr::slice(expr, axis, 0, 1)});
}

/// Other expressions with this shape, and a description.
static std::vector<std::pair<std::string, WeightExpr>>
getOthers(const WeightExpr &expr, const std::vector<int64_t> &shape) {
  std::vector<std::pair<std::string, WeightExpr>> all = {
      {"scaled", WeightExpr::scale(expr, 1.25)}};
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] > 1)
      all.push_back({axis ? "columns rotated" : "rows rotated",
                     rotate(expr, axis, shape[axis])});
  if (shape.size() == 2 && shape[0] == shape[1])
    all.push_back({"transposed", WeightExpr::transpose(expr, {1, 0})});
  if (shape[0] % 2 == 0) {
    const int64_t half = shape[0] / 2;
    all.push_back(
        {"halves exchanged",
         WeightExpr::concat(0, {WeightExpr::slice(expr, 0, half, half),
                                WeightExpr::slice(expr, 0, 0, half)})});
  }
  return all;
}

/// Live weights.
static SmallVector<Operation *> getWeights(ModuleOp module) {
  LiveOperations live(module);
  SmallVector<Operation *> all;
  for (Operation &op : *module.getBody())
    if (isa<attn::WeightOp, kern::WeightOp>(op) && live.contains(&op))
      all.push_back(&op);
  return all;
}

void changeWeights(ModuleOp module, const TensorSource &source, Edits &edits) {
  for (Operation *op : getWeights(module)) {
    WeightExpr expr = getExpr(op).getExpr();
    std::vector<int64_t> shape = getShape(op);
    for (auto &[what, other] : getOthers(expr, shape)) {
      Attribute changed = weights::ExprAttr::get(op->getContext(), other);
      if (evaluate(other, shape, source) != evaluate(expr, shape, source))
        edits.push_back({op, what, [=] {
                           op->setAttr("expr", changed);
                           return op;
                         }});
    }
  }
}

void takeOtherWeights(ModuleOp module, const TensorSource &source,
                      Edits &edits) {
  SmallVector<Operation *> all = getWeights(module);
  for (Operation *op : all)
    for (Operation *other : all) {
      if (op->getName() != other->getName() ||
          op->getAttr("type") != other->getAttr("type") ||
          getExpr(op) == getExpr(other))
        continue;
      std::vector<int64_t> shape = getShape(op);
      if (evaluate(getExpr(op).getExpr(), shape, source) ==
          evaluate(getExpr(other).getExpr(), shape, source))
        continue;
      Attribute changed = getExpr(other);
      edits.push_back({op, "expression of another weight", [=] {
                         op->setAttr("expr", changed);
                         return op;
                       }});
    }
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Tables with entries exchanged, omitted or repeated, or with a parameter from
/// the next layer.
template <typename OpT, typename LayerT>
static void changeTable(OpT op, Edits &edits) {
  SmallVector<LayerT> layers(op.getLayerRange());
  auto add = [&](const char *what, const SmallVector<LayerT> &changed) {
    SmallVector<Attribute> table(changed.begin(), changed.end());
    auto attribute = ArrayAttr::get(op.getContext(), table);
    if (attribute != op.getLayersAttr())
      edits.push_back({op, what, [op = op.getOperation(), attribute] {
                         op->setAttr("layers", attribute);
                         return op;
                       }});
  };
  // Exchange neighbors, repeat a layer, and take parameters from the next one.
  for (size_t i = 0; i + 1 < layers.size(); ++i) {
    SmallVector<LayerT> changed = layers;
    std::swap(changed[i], changed[i + 1]);
    add("layers swapped", changed);
    changed = layers;
    changed[i + 1] = changed[i];
    add("layer repeated", changed);
    for (size_t p = 0; p < layers[i].getParameters().size() &&
                       p < layers[i + 1].getParameters().size();
         ++p) {
      SmallVector<FlatSymbolRefAttr> parameters(layers[i].getParameters());
      parameters[p] = layers[i + 1].getParameters()[p];
      changed = layers;
      changed[i] =
          LayerT::get(op.getContext(), layers[i].getBody(), parameters);
      add("parameter of the next layer", changed);
    }
  }
  // Omit the last layer.
  layers.pop_back();
  add("layer left out", layers);
}

void changeLayers(ModuleOp module, const TensorSource &, Edits &edits) {
  LiveOperations live(module);
  module.walk([&](Operation *op) {
    if (!live.contains(op))
      return;
    if (auto layers = dyn_cast<attn::LayersOp>(op))
      changeTable<attn::LayersOp, attn::LayerAttr>(layers, edits);
    if (auto layers = dyn_cast<kern::LayersOp>(op))
      changeTable<kern::LayersOp, kern::LayerAttr>(layers, edits);
  });
}

} // namespace transom::testing
