// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights are expressions over file tensors. A tensor may be split into several
// weights (queries, keys and values), and several weights may share one
// (embedding and head).
#include "compiler/statistics/ModelParameters.h"

using namespace mlir;
using namespace transom;

namespace {

/// A weight that reads a tensor.
struct WeightUse {
  std::string name;
  Component component;
  uint64_t elements;
};

} // namespace

/// Returns the nonzero counts by name.
static ComponentParameters nameCounts(const ComponentCounts &counts) {
  ComponentParameters named;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i])
      named.emplace_back(getComponentName(static_cast<Component>(i)),
                         counts[i]);
  return named;
}

/// Divides a tensor's elements among the weights that read it.
static void addTensor(std::map<LayerId, ComponentCounts> &layers,
                      uint64_t elements, const std::vector<WeightUse> &uses) {
  uint64_t used = 0;
  for (const WeightUse &use : uses)
    used += use.elements;
  auto count = [&](const WeightUse &use) -> uint64_t & {
    return layers[getLayerId(use.name)][static_cast<size_t>(use.component)];
  };
  // Disjoint slices have as many elements together as the tensor; otherwise the
  // lowest component gets all elements.
  if (used == elements) {
    for (const WeightUse &use : uses)
      count(use) += use.elements;
    return;
  }
  count(*std::min_element(uses.begin(), uses.end(),
                          [](const WeightUse &a, const WeightUse &b) {
                            return a.component < b.component;
                          })) += elements;
}

ParameterReport transom::reportParameters(ModuleOp module,
                                          const ImportInfo &info,
                                          const ModelComponents &components) {
  // The weights that read each tensor.
  std::map<std::string, std::vector<WeightUse>> uses;
  for (auto weight : module.getOps<attn::WeightOp>()) {
    const std::string name = weight.getSymName().str();
    auto type = cast<ShapedType>(weight.getType());
    for (const std::string &file : weight.getExpr().getExpr().files())
      uses[file].push_back({name, components.getComponent(name),
                            static_cast<uint64_t>(type.getNumElements())});
  }
  std::map<LayerId, ComponentCounts> layers;
  for (const auto &[file, shape] : info.tensorShapes)
    if (auto known = uses.find(file); known != uses.end())
      addTensor(layers, static_cast<uint64_t>(elementCount(shape).value_or(0)),
                known->second);

  // Equal neighbours become one line.
  ParameterReport report;
  report.tiedHead = components.hasTiedHead();
  ComponentCounts all{};
  for (const auto &[layer, counts] : layers) {
    for (size_t i = 0; i < counts.size(); ++i)
      all[i] += counts[i];
    ComponentParameters named = nameCounts(counts);
    LayerParameters *last =
        report.layers.empty() ? nullptr : &report.layers.back();
    if (layer.isLayer() && last && last->stack == layer.stack &&
        last->last + 1 == layer.index && last->components == named)
      last->last = layer.index;
    else
      report.layers.push_back(
          {layer.stack, layer.index, layer.index, std::move(named)});
  }
  report.components = nameCounts(all);
  return report;
}
