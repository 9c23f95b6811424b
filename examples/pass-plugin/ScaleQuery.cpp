// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass outside of the tree: moves the scale of the scores of an attention
// into the weight and the bias of the product that makes its query. Results are
// the same for any weights, which `transom verify` shows.
#include "compiler/pipeline/ExtensionPoints.h"
#include "dialects/attn/Attn.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

using namespace mlir;
using namespace transom;

namespace {

/// The product that makes the query, if only these scores depend on it.
attn::LinearOp findQuery(attn::ScaleOp scale) {
  auto scores = scale.getInput().getDefiningOp<attn::MatmulOp>();
  if (!scores || !scores->hasOneUse() || !scale.getOffset().isZero())
    return {};
  Value query = scores.getLhs();
  while (query.hasOneUse()) {
    if (auto linear = query.getDefiningOp<attn::LinearOp>())
      return linear;
    if (auto reshape = query.getDefiningOp<attn::ReshapeOp>())
      query = reshape.getInput();
    else if (auto transpose = query.getDefiningOp<attn::TransposeOp>())
      query = transpose.getInput();
    else
      break;
  }
  return {};
}

struct ScaleQuery : PassWrapper<ScaleQuery, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ScaleQuery)

  StringRef getArgument() const override { return "scale-query"; }
  StringRef getDescription() const override {
    return "Move the scale of attention into the product of its query";
  }

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    llvm::DenseMap<StringRef, int> readers;
    getOperation().walk(
        [&](attn::GetWeightOp op) { ++readers[op.getWeight()]; });

    // The weight that a value is, if nothing else reads it.
    auto getWeight = [&](Value value) -> attn::WeightOp {
      auto get = value.getDefiningOp<attn::GetWeightOp>();
      if (!get || !value.hasOneUse() || readers.lookup(get.getWeight()) != 1)
        return {};
      return symbols.lookup<attn::WeightOp>(get.getWeight());
    };

    llvm::SmallVector<attn::ScaleOp> scales;
    getOperation().walk([&](attn::ScaleOp op) { scales.push_back(op); });
    for (attn::ScaleOp op : scales) {
      attn::LinearOp linear = findQuery(op);
      if (!linear)
        continue;
      llvm::SmallVector<attn::WeightOp> weights = {
          getWeight(linear.getWeight())};
      if (linear.getBias())
        weights.push_back(getWeight(linear.getBias()));
      if (llvm::is_contained(weights, attn::WeightOp()))
        continue;

      // No number is read: a weight is an expression over tensors of files.
      for (attn::WeightOp weight : weights)
        weight.setExprAttr(weights::ExprAttr::get(
            &getContext(),
            WeightExpr::scale(weight.getExpr().getExpr(),
                              op.getFactor().convertToDouble())));
      op.getResult().replaceAllUsesWith(op.getInput());
      op.erase();
    }
  }
};

/// Makes the pass known to transom-opt, and part of `transom compile`.
void registerPasses() {
  PassRegistration<ScaleQuery>();
  (void)registerExtension("extension-attn-shaped", [](OpPassManager &passes) {
    passes.addPass(std::make_unique<ScaleQuery>());
  });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "scale-query", LLVM_VERSION_STRING,
          registerPasses};
}
