// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uses the layers that attn-outline-layers would find. The layer after the gap
// reads the result from the last layer before it.
#include "compiler/verify/CutLayers.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "passes/graph/LayerRuns.h"

using namespace mlir;

namespace transom {

/// Groups that stay at the start of a run; the last group also stays.
static constexpr size_t numFirst = 2;

/// Adds the layer paths in a group.
static void addPaths(const LayerFinder &finder, const LayerRun &run,
                     size_t group, std::vector<std::string> &paths) {
  for (size_t i = 0; i < run.period; ++i) {
    Location location =
        finder.ops()[run.begin + group * run.period + i]->getLoc();
    std::string path = getNumberedPath(location);
    if (path.empty())
      path = getModulePath(location);
    if (!llvm::is_contained(paths, path))
      paths.push_back(std::move(path));
  }
}

/// Erases the groups in a run between the first ones and the last.
static void eraseGroups(const LayerFinder &finder, const LayerRun &run) {
  auto getCarried = [&](size_t group) {
    return finder.ops()[run.begin + group * run.period + run.carried]
        ->getResult(0);
  };
  getCarried(run.count - 2).replaceAllUsesWith(getCarried(numFirst - 1));
  const size_t begin = run.begin + numFirst * run.period,
               end = run.begin + (run.count - 1) * run.period;
  for (size_t i = end; i > begin; --i)
    finder.ops()[i - 1]->erase();
}

/// Erases unused weights and caches.
static void eraseUnused(ModuleOp module) {
  module.walk([](Operation *op) {
    if (givesParameter(op) && op->use_empty())
      op->erase();
  });
  DenseSet<StringAttr> used;
  auto uses = SymbolTable::getSymbolUses(&module.getBodyRegion());
  if (!uses)
    return;
  for (const SymbolTable::SymbolUse &use : *uses)
    used.insert(use.getSymbolRef().getRootReference());
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<attn::WeightOp, attn::CacheOp>(op) &&
        !used.contains(SymbolTable::getSymbolName(&op)))
      op.erase();
}

std::vector<EqualLayers> cutLayers(ModuleOp module) {
  std::vector<EqualLayers> all;
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (entry.isExternal())
      continue;
    LayerFinder finder(entry.getBody().front());
    finder.find();
    std::vector<EqualLayers> ofEntry;
    for (const LayerRun &run : llvm::reverse(finder.runs())) {
      EqualLayers layers;
      layers.entry = entry.getSymName();
      layers.numLayers = layers.numKept = static_cast<int64_t>(run.count);
      for (size_t i = 0; i < std::min(numFirst, run.count - 1); ++i)
        addPaths(finder, run, i, layers.kept);
      addPaths(finder, run, run.count - 1, layers.kept);
      if (run.count > numFirst + 1) {
        layers.numKept = numFirst + 1;
        eraseGroups(finder, run);
      }
      ofEntry.push_back(std::move(layers));
    }
    all.insert(all.end(), ofEntry.rbegin(), ofEntry.rend());
  }
  eraseUnused(module);
  return all;
}

} // namespace transom
