// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the names that operations refer to, then erases unused weights and
// caches. Unused private functions are erased first, so that their references
// do not count.
#include "passes/Remarks.h"
#include "passes/graph/GraphSupport.h"
#include "passes/graph/Passes.h"

#define DEBUG_TYPE "attn-drop-unused-weights"

using namespace mlir;
using namespace transom::attn;

namespace transom {

#define GEN_PASS_DEF_DROPUNUSEDWEIGHTSPASS
#include "passes/graph/Passes.h.inc"

namespace {

class DropUnusedWeightsPass
    : public impl::DropUnusedWeightsPassBase<DropUnusedWeightsPass> {
public:
  void runOnOperation() override {
    DenseSet<StringAttr> used = usedNames();
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function.isPrivate() && !used.contains(function.getSymNameAttr()))
        function.erase();
    used = usedNames();
    SmallVector<Location> locations;
    std::vector<std::string> names;
    for (Operation &op : llvm::make_early_inc_range(*getOperation().getBody()))
      if (isa<WeightOp, CacheOp>(op) &&
          !used.contains(SymbolTable::getSymbolName(&op))) {
        locations.push_back(op.getLoc());
        names.push_back("'" + SymbolTable::getSymbolName(&op).str() + "'");
        op.erase();
        ++dropped;
      }
    if (!names.empty())
      Remarks(getOperation())
          .report(locations.front(), nullptr,
                  {RemarkId::UnusedWeightsDropped,
                   {{"count", names.size()},
                    {"names", listTexts(std::move(names))}}});
  }

private:
  DenseSet<StringAttr> usedNames() {
    DenseSet<StringAttr> used;
    getOperation().walk([&](Operation *op) {
      op->getAttrDictionary().walk(
          [&](FlatSymbolRefAttr name) { used.insert(name.getAttr()); });
    });
    return used;
  }
};

} // namespace
} // namespace transom
