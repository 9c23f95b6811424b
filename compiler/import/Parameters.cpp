// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints were saved from models with and without a head, by versions that
// called the parameters of norms differently; all of them are found here.
#include "compiler/import/Parameters.h"

using namespace mlir;
using namespace transom;

static std::string firstWord(const std::string &module) {
  return module.substr(0, module.find('.'));
}

Parameters::Parameters(Emitter &emit, const ModelFiles &files,
                       const ModuleNaming &naming)
    : emit(emit), files(files), prefix(naming.prefix),
      locationPrefix(naming.bare ? "" : naming.prefix),
      prefixed(llvm::any_of(naming.knownTensors, [&](const auto &tensor) {
        return files.find(naming.prefix + tensor) != nullptr;
      })) {
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
  std::vector<std::string> names = {name};
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

Value Parameters::get(const std::string &module, const std::string &name,
                      std::vector<int64_t> shape, const std::string &sizes) {
  return emit.fileWeight(getModulePath(module) + "." + name,
                         getTensorName(module, name), std::move(shape), sizes);
}

Value Parameters::getDerived(
    const std::string &module, const std::string &name,
    std::vector<int64_t> shape, const std::string &sizes,
    const std::string &suffix,
    const std::function<WeightExpr(WeightExpr)> &derive) {
  std::string tensor = getTensorName(module, name);
  if (!emit.checkTensor(tensor, shape, sizes))
    return {};
  return emit.weight(getModulePath(module) + "." + name + suffix,
                     derive(WeightExpr::file(tensor)));
}
