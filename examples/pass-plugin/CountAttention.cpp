// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass outside of the tree: says how many attention operations a module of
// the attn dialect has, and with how many heads.
#include "dialects/attn/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;
using namespace transom;

namespace {

struct CountAttention : PassWrapper<CountAttention, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountAttention)

  StringRef getArgument() const override { return "count-attention"; }
  StringRef getDescription() const override {
    return "Count attention operations and their heads";
  }

  void runOnOperation() override {
    uint64_t count = 0, heads = 0;
    getOperation().walk([&](Operation *op) {
      if (isa<attn::SdpaOp>(op)) {
        ++count;
        heads += cast<attn::SdpaOp>(op).getHeads();
      }
    });
    llvm::outs() << "attention operations: " << count << ", heads: " << heads
                 << "\n";
    markAllAnalysesPreserved();
  }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "count-attention", LLVM_VERSION_STRING,
          [] { PassRegistration<CountAttention>(); }};
}
