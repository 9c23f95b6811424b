// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Phases call kernels through tables with one kernel per row count, and may
// share the code that does so.
#include "compiler/artifact/PhaseKernels.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "runtime/base/CodeSymbols.h"
#include <map>
#include <set>

using namespace mlir;
using namespace transom;

namespace {

/// The functions and tables that each operation in the module references.
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

  /// Adds all direct and indirect references from `name`.
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

/// Among kernels that differ in rows only, keeps the one with the most rows.
static std::vector<std::string>
getLargest(const std::set<std::string> &symbols) {
  std::map<std::string, std::pair<int64_t, std::string>> largest;
  for (const std::string &symbol : symbols)
    if (std::optional<KernelTile> tile = parseKernelTile(symbol)) {
      auto &[rows, name] = largest[tile->family];
      if (tile->rows > rows) {
        rows = tile->rows;
        name = symbol;
      }
    }
  std::vector<std::string> kernels;
  for (const auto &[family, kernel] : largest)
    kernels.push_back(kernel.second);
  llvm::sort(kernels);
  return kernels;
}

std::vector<PhaseKernels> transom::findPhaseKernels(ModuleOp code) {
  References references(code);
  std::vector<PhaseKernels> phases;
  for (Operation &op : *code.getBody()) {
    const std::string symbol = SymbolTable::getSymbolName(&op).str();
    if (!StringRef(symbol).starts_with(phaseSymbolPrefix))
      continue;
    std::set<std::string> reached;
    references.collect(symbol, reached);
    phases.push_back({symbol, getLargest(reached)});
  }
  return phases;
}
