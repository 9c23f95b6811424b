// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code refers to phases by symbol, explanations by their name in the manifest.
#include "compiler/explain/ExplainKernels.h"
#include "compiler/artifact/PhaseKernels.h"
#include "runtime/base/CodeSymbols.h"
#include <map>

using namespace mlir;
using namespace transom;

/// Returns phase names by code symbol.
static std::map<std::string, std::string>
getPhaseNames(const std::string &isa, const Manifest &manifest) {
  std::map<std::string, std::string> names;
  for (const ManifestEntry &entry : manifest.entries)
    for (const ManifestDispatch &dispatch : entry.dispatches)
      names[getPhaseSymbol(isa, dispatch.phase, dispatch.location)] =
          dispatch.phase;
  return names;
}

std::vector<ExplainedKernel> transom::explainKernels(ModuleOp module,
                                                     const std::string &isa,
                                                     const Manifest &manifest) {
  const std::map<std::string, std::string> names = getPhaseNames(isa, manifest);
  // Phases share kernels.
  std::map<std::string, ExplainedKernel> kernels;
  for (const PhaseKernels &phase : findPhaseKernels(module)) {
    const auto name = names.find(phase.symbol);
    if (name == names.end())
      continue;
    for (const std::string &symbol : phase.kernels) {
      const KernelTile tile = *parseKernelTile(symbol);
      ExplainedKernel &kernel = kernels[tile.family];
      kernel = {isa, symbol, tile.rows, tile.columns, kernel.phases};
      kernel.phases.push_back(name->second);
    }
  }
  std::vector<ExplainedKernel> result;
  for (auto &[family, kernel] : kernels)
    result.push_back(std::move(kernel));
  return result;
}
