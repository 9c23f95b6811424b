// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds parameters in checkpoints that were saved from models with and without
// a head, and by versions with different names for norm parameters.
#include "compiler/import/Parameters.h"

using namespace mlir;
using namespace transom;

/// Name suffix for a weight that adapters change.
static constexpr const char *originalEnd = ".original";

static std::string firstWord(const std::string &module) {
  return module.substr(0, module.find('.'));
}

Parameters::Parameters(Emitter &emit, const ModelFiles &files,
                       const ModuleNaming &naming)
    : emit(emit), files(files), prefix(naming.prefix),
      locationPrefix(naming.bare ? "" : naming.prefix),
      prefixed(llvm::any_of(naming.knownTensors,
                            [&](const auto &tensor) {
                              return files.find(naming.prefix + tensor) !=
                                     nullptr;
                            })),
      adapter(naming.adapter) {
  for (const std::string &module : naming.baseModules)
    if (!module.empty())
      tops.insert(firstWord(module));
}

bool Parameters::inBase(const std::string &module) const {
  return tops.count(firstWord(module)) != 0;
}

std::string Parameters::getModulePath(const std::string &module) const {
  return (inBase(module) ? locationPrefix : "") + module;
}

void Parameters::at(const std::string &module, const std::string &pointer) {
  emit.at(getModulePath(module), pointer);
}

void Parameters::at(const std::string &module, const ConfigKey &key) {
  at(module,
     key.empty() ? std::string("/model_type") : "/" + std::string(key.front()));
}

std::string Parameters::getTensorName(const std::string &module,
                                      const std::string &name,
                                      bool *found) const {
  std::vector<std::string> bases = {module};
  if (inBase(module))
    bases.insert(prefixed ? bases.begin() : bases.end(), prefix + module);
  std::vector<std::string> names = {name,
                                    "parametrizations." + name + originalEnd};
  StringRef last(module);
  if (last.ends_with("Norm") || last.ends_with("_norm"))
    names.push_back(name == "weight" ? "gamma" : "beta");
  for (const std::string &base : bases)
    for (const std::string &spelling : names)
      if (std::string tensor = base + "." + spelling; files.find(tensor)) {
        if (found)
          *found = true;
        return tensor;
      }
  if (found)
    *found = false;
  return bases.front() + "." + name;
}

bool Parameters::has(const std::string &module, const std::string &name) const {
  bool found = false;
  getTensorName(module, name, &found);
  return found;
}

WeightExpr Parameters::merge(const std::string &tensor,
                             const std::vector<int64_t> &shape) {
  const WeightExpr original = WeightExpr::file(tensor);
  StringRef module(tensor);
  if (!adapter || shape.size() != 2 || !module.consume_back(originalEnd))
    return original;
  const int64_t tasks = adapter->tasks, rank = adapter->rank;
  const std::string a = module.str() + ".0.lora_A",
                    b = module.str() + ".0.lora_B";
  // For a table, the product is B's transpose times A's.
  const SafetensorsTensor *stored = files.find(a);
  bool table =
      stored && stored->shape != std::vector<int64_t>{tasks, rank, shape[1]};
  std::vector<int64_t> sizesA = {tasks, rank, shape[1]},
                       sizesB = {tasks, shape[0], rank};
  if (table)
    std::swap(sizesA, sizesB);
  if (!emit.checkTensor(a, sizesA, "tasks x rank x in") ||
      !emit.checkTensor(b, sizesB, "tasks x out x rank"))
    return original;
  auto getOwn = [&](const std::string &name, const std::vector<int64_t> &all) {
    return WeightExpr::reshape(
        WeightExpr::slice(WeightExpr::file(name), 0, adapter->task, 1),
        {all[1], all[2]});
  };
  WeightExpr ofA = getOwn(a, sizesA), ofB = getOwn(b, sizesB);
  WeightExpr product =
      table ? WeightExpr::matmul(ofA, ofB) : WeightExpr::matmul(ofB, ofA);
  return WeightExpr::add(original, WeightExpr::scale(product, adapter->scale));
}

Value Parameters::get(const std::string &module, const std::string &name,
                      std::vector<int64_t> shape, const std::string &sizes) {
  const std::string symbol = getModulePath(module) + "." + name;
  const std::string tensor = getTensorName(module, name);
  if (!adapter)
    return emit.fileWeight(symbol, tensor, std::move(shape), sizes);
  if (!emit.checkTensor(tensor, shape, sizes))
    return {};
  const WeightExpr merged = merge(tensor, shape);
  return emit.failed() ? Value() : emit.weight(symbol, merged);
}

Value Parameters::getDerived(
    const std::string &module, const std::string &name,
    std::vector<int64_t> shape, const std::string &sizes,
    const std::string &suffix,
    const std::function<WeightExpr(WeightExpr)> &derive) {
  std::string tensor = getTensorName(module, name);
  if (!emit.checkTensor(tensor, shape, sizes))
    return {};
  const WeightExpr merged = merge(tensor, shape);
  if (emit.failed())
    return {};
  return emit.weight(getModulePath(module) + "." + name + suffix,
                     derive(merged));
}
