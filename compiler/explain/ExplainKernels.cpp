// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases call kernels through tables of one kernel for each number of rows, and
// may share code that does so.
#include "compiler/explain/ExplainKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/base/CodeSymbols.h"
#include <map>
#include <set>

using namespace mlir;
using namespace transom;

namespace {

/// The functions and tables that an operation of the module refers to.
class References {
public:
  explicit References(ModuleOp module) {
    for (Operation &op : *module.getBody()) {
      auto symbol = SymbolTable::getSymbolName(&op);
      std::set<std::string> &names = direct[symbol.str()];
      op.walk([&](Operation *inner) {
        if (auto address = dyn_cast<LLVM::AddressOfOp>(inner))
          names.insert(address.getGlobalName().str());
        else if (auto call = dyn_cast<LLVM::CallOp>(inner))
          if (auto callee = call.getCallee())
            names.insert(callee->str());
      });
    }
  }

  /// Adds all that `name` refers to, through others too.
  void collect(const std::string &name, std::set<std::string> &into) const {
    auto found = direct.find(name);
    if (found == direct.end())
      return;
    for (const std::string &other : found->second)
      if (into.insert(other).second)
        collect(other, into);
  }

private:
  std::map<std::string, std::set<std::string>> direct;
};

} // namespace

/// The names of phases by the symbols of their code.
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
  References references(module);
  const std::map<std::string, std::string> names = getPhaseNames(isa, manifest);
  // Kernels that differ in rows only have one key.
  std::map<std::string, ExplainedKernel> kernels;
  for (Operation &op : *module.getBody()) {
    const auto phase = names.find(SymbolTable::getSymbolName(&op).str());
    if (phase == names.end())
      continue;
    std::set<std::string> reached;
    references.collect(phase->first, reached);
    for (const std::string &symbol : reached) {
      std::optional<KernelTile> tile = parseKernelTile(symbol);
      if (!tile)
        continue;
      ExplainedKernel &kernel = kernels[tile->family];
      if (tile->rows > kernel.rows)
        kernel = {isa, symbol, tile->rows, tile->columns, kernel.phases};
      if (kernel.phases.empty() || kernel.phases.back() != phase->second)
        kernel.phases.push_back(phase->second);
    }
  }
  std::vector<ExplainedKernel> result;
  for (auto &[family, kernel] : kernels)
    result.push_back(std::move(kernel));
  return result;
}
