// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plug-in whose pass fails after attention was fused: at the last attention.
#include "compiler/pipeline/ExtensionPoints.h"
#include "dialects/attn/Attn.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;
using namespace transom;

namespace {

struct RefuseAttention : PassWrapper<RefuseAttention, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RefuseAttention)

  StringRef getArgument() const override { return "refuse-attention"; }

  void runOnOperation() override {
    attn::SdpaOp last;
    getOperation().walk([&](attn::SdpaOp op) { last = op; });
    if (!last)
      return;
    last.emitError("attention is refused");
    signalPassFailure();
  }
};

void registerPasses() {
  (void)registerExtension("extension-attn-fused", [](OpPassManager &passes) {
    passes.addPass(std::make_unique<RefuseAttention>());
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "refuse-attention", LLVM_VERSION_STRING,
          registerPasses};
}
