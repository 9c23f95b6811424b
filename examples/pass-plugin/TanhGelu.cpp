// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass outside of the tree: replaces the activation gelu by its tanh form,
// which differs by at most 0.0005.
#include "compiler/pipeline/ExtensionPoints.h"
#include "dialects/attn/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace transom;

namespace {

/// `attn.activation <gelu>` becomes `attn.activation <gelu_tanh>`.
struct UseTanh : OpRewritePattern<attn::ActivationOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::ActivationOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getKind() != Activation::Gelu)
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.setKind(Activation::GeluTanh); });
    return success();
  }
};

struct TanhGelu : PassWrapper<TanhGelu, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TanhGelu)

  StringRef getArgument() const override { return "tanh-gelu"; }
  StringRef getDescription() const override {
    return "Replace the activation gelu by its tanh form";
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<UseTanh>(&getContext());
    if (failed(
            applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

/// Makes the pass known to transom-opt, and part of `transom compile`.
void registerPasses() {
  PassRegistration<TanhGelu>();
  (void)registerExtension("extension-attn-shaped", [](OpPassManager &passes) {
    passes.addPass(std::make_unique<TanhGelu>());
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "tanh-gelu", LLVM_VERSION_STRING,
          registerPasses};
}
