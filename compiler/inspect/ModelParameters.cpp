// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights are expressions over the tensors of files. A tensor may be cut into
// several weights (queries, keys and values), and several weights may share one
// (embedding and head).
#include "compiler/inspect/ModelParameters.h"
#include "llvm/Support/Format.h"
#include <numeric>

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

static uint64_t sum(const ComponentCounts &counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

/// Splits the elements of a tensor among the weights that read it.
static void addTensor(std::map<LayerId, ComponentCounts> &layers,
                      uint64_t elements, const std::vector<WeightUse> &uses) {
  uint64_t used = 0;
  for (const WeightUse &use : uses)
    used += use.elements;
  auto count = [&](const WeightUse &use) -> uint64_t & {
    return layers[getLayerId(use.name)][static_cast<size_t>(use.component)];
  };
  // Weights that are disjoint pieces of the tensor have as many elements
  // together; others share it.
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
  // Which weights read each tensor.
  std::map<std::string, std::vector<WeightUse>> uses;
  for (auto weight : module.getOps<attn::WeightOp>()) {
    const std::string name = weight.getSymName().str();
    auto type = cast<ShapedType>(weight.getType());
    for (const std::string &file : weight.getExpr().getExpr().files())
      uses[file].push_back({name, components.getComponent(name),
                            static_cast<uint64_t>(type.getNumElements())});
  }
  std::map<LayerId, ComponentCounts> layers;
  for (const auto &[file, elements] : info.tensorElements)
    if (auto known = uses.find(file); known != uses.end())
      addTensor(layers, elements, known->second);

  // Equal neighbours become one line.
  ParameterReport report;
  report.tiedHead = components.hasTiedHead();
  for (const auto &[layer, counts] : layers) {
    for (size_t i = 0; i < counts.size(); ++i)
      report.counts[i] += counts[i];
    LayerParameters *last =
        report.layers.empty() ? nullptr : &report.layers.back();
    if (layer.isLayer() && last && last->stack == layer.stack &&
        last->last + 1 == layer.index && last->counts == counts)
      last->last = layer.index;
    else
      report.layers.push_back({layer.stack, layer.index, layer.index, counts});
  }
  return report;
}

/// `embedding 1234, norm 64`.
static std::string listComponents(const ComponentCounts &counts) {
  std::string text;
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i])
      text += (text.empty() ? "" : ", ") +
              std::string(getComponentName(static_cast<Component>(i))) + " " +
              std::to_string(counts[i]);
  return text;
}

void ParameterReport::addText(llvm::raw_ostream &out) const {
  const uint64_t all = sum(counts);
  out << "\nparameters by component\n";
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i])
      out << llvm::format("  %-16s %14llu  %5.1f %%\n",
                          getComponentName(static_cast<Component>(i)),
                          static_cast<unsigned long long>(counts[i]),
                          100.0 * static_cast<double>(counts[i]) /
                              static_cast<double>(all));
  if (tiedHead)
    out << "  the head shares its matrix with the embedding\n";
  out << "\nparameters by layer\n";
  for (const LayerParameters &layer : layers) {
    std::string name = "outside of layers";
    if (!layer.stack.empty()) {
      name = layer.stack + " " + std::to_string(layer.first);
      if (layer.last > layer.first)
        name += "-" + std::to_string(layer.last) + ", each";
    }
    out << "  " << name << ": " << sum(layer.counts) << " ("
        << listComponents(layer.counts) << ")\n";
  }
}

static void writeComponents(JsonWriter &json, const ComponentCounts &counts) {
  json.key("components");
  json.beginObject();
  for (size_t i = 0; i < counts.size(); ++i)
    if (counts[i])
      json.member(getComponentName(static_cast<Component>(i)), counts[i]);
  json.endObject();
}

void ParameterReport::writeJson(JsonWriter &json) const {
  json.key("parameter_report");
  json.beginObject();
  json.member("tied_head", tiedHead);
  writeComponents(json, counts);
  json.key("layers");
  json.beginArray();
  for (const LayerParameters &layer : layers) {
    json.beginObject();
    json.key("stack");
    if (layer.stack.empty()) {
      json.null();
    } else {
      json.value(layer.stack);
      json.member("first", layer.first);
      json.member("last", layer.last);
    }
    json.member("parameters", sum(layer.counts));
    writeComponents(json, layer.counts);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}
