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

static bool startsWith(StringRef name, std::string_view prefix) {
  return name.starts_with(StringRef(prefix));
}

std::vector<ExplainedKernel> transom::explainKernels(ModuleOp module,
                                                     const std::string &isa) {
  References references(module);
  // Kernels that differ in rows only have one key.
  std::map<std::string, ExplainedKernel> kernels;
  for (Operation &op : *module.getBody()) {
    StringRef phase = SymbolTable::getSymbolName(&op);
    const std::string prefix = getPhaseSymbol(isa, "");
    if (!phase.starts_with(prefix))
      continue;
    std::set<std::string> reached;
    references.collect(phase.str(), reached);
    for (const std::string &symbol : reached) {
      std::optional<KernelTile> tile = parseKernelTile(symbol);
      if (!tile)
        continue;
      ExplainedKernel &kernel = kernels[tile->family];
      if (tile->rows > kernel.rows)
        kernel = {isa, symbol, tile->rows, tile->columns, kernel.phases};
      std::string name = phase.drop_front(prefix.size()).str();
      if (kernel.phases.empty() || kernel.phases.back() != name)
        kernel.phases.push_back(name);
    }
  }
  std::vector<ExplainedKernel> result;
  for (auto &[family, kernel] : kernels)
    result.push_back(std::move(kernel));
  return result;
}
