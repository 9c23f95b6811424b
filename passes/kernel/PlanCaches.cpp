// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches with equal windows and types share blocks, layer after layer.
#include "dialects/kern/Kern.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Remarks.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "kern-plan-caches"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_PLANCACHESPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

namespace {

/// Layers whose keys and values are in the same blocks.
struct LayerGroup {
  int64_t window;
  int64_t positions; ///< per sequence if read-only, else 0
  Type element;
  int64_t layers = 0, bytes = 0;
};

struct PlanCachesPass
    : public transom::impl::PlanCachesPassBase<PlanCachesPass> {
  void runOnOperation() override {
    SmallVector<LayerGroup> all;
    SmallVector<kern::CacheOp> firsts; // one per group
    Builder b(&getContext());
    for (auto cache : getOperation().getOps<kern::CacheOp>()) {
      auto type = cast<kern::CacheType>(cache.getType());
      LayerGroup *group = llvm::find_if(all, [&](const LayerGroup &known) {
        return known.window == type.getWindow() &&
               known.positions == type.getPositions() &&
               known.element == type.getElementType();
      });
      if (group == all.end()) {
        group = &all.emplace_back(LayerGroup{
            type.getWindow(), type.getPositions(), type.getElementType()});
        firsts.push_back(cache);
      }
      cache.setGroupAttr(b.getI64IntegerAttr(group - all.begin()));
      cache.setOffsetAttr(b.getI64IntegerAttr(group->bytes));
      group->bytes += type.getByteSize();
      ++group->layers;
      ++caches;
    }
    groups += all.size();
    report(all, firsts);
    if (!all.empty())
      getOperation()->setAttr("kern.cache_groups", getTable(all, b));
  }

  void report(ArrayRef<LayerGroup> all, ArrayRef<kern::CacheOp> firsts) {
    Remarks remarks(getOperation());
    for (auto [i, group] : llvm::enumerate(all))
      remarks.report(kern::CacheOp(firsts[i]), {RemarkId::CacheGroupPlanned,
                                                {{"group", i},
                                                 {"layers", group.layers},
                                                 {"type", group.element},
                                                 {"window", group.window},
                                                 {"bytes", group.bytes}}});
  }

  static ArrayAttr getTable(ArrayRef<LayerGroup> all, Builder &b) {
    SmallVector<Attribute> table;
    for (const LayerGroup &group : all) {
      NamedAttrList entry;
      entry.set("window", b.getI64IntegerAttr(group.window));
      entry.set("type", TypeAttr::get(group.element));
      entry.set("layers", b.getI64IntegerAttr(group.layers));
      entry.set("bytes", b.getI64IntegerAttr(group.bytes));
      if (group.positions)
        entry.set("positions", b.getI64IntegerAttr(group.positions));
      table.push_back(entry.getDictionary(b.getContext()));
    }
    return b.getArrayAttr(table);
  }
};

} // namespace
