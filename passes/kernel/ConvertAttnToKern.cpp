// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors become buffers: first weights and caches, then each entry with its
// layer bodies.
#include "passes/kernel/AttnConverter.h"
#include "passes/kernel/Passes.h"

#define DEBUG_TYPE "convert-attn-to-kern"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_CONVERTATTNTOKERNPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

namespace {

struct ConvertAttnToKernPass
    : public transom::impl::ConvertAttnToKernPassBase<ConvertAttnToKernPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    if (failed(checkCaches(symbols)))
      return signalPassFailure();
    convertWeights(symbols);
    convertCaches(symbols);
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function->hasAttr("kern.inputs"))
        entries.push_back(function); // the others are already on buffers
    for (func::FuncOp entry : entries)
      if (failed(convertEntry(symbols, entry)))
        return signalPassFailure();
  }

  /// Each cache has one user, so that the order of users has no effect; a
  /// read-only cache has one user per function.
  LogicalResult checkCaches(SymbolTable &symbols) {
    // Record the user of each cache, and its function if the cache is
    // read-only.
    DenseSet<std::pair<Operation *, StringAttr>> taken;
    auto take = [&](FlatSymbolRefAttr name, Operation *user) {
      auto cache = symbols.lookup<attn::CacheOp>(name.getValue());
      if (!cache)
        return true; // a layer's weight
      Operation *scope =
          cast<attn::CacheType>(cache.getType()).isReadOnly()
              ? user->getParentOfType<func::FuncOp>().getOperation()
              : nullptr;
      return taken.insert({scope, name.getAttr()}).second;
    };
    auto takeOperand = [&](Value operand, Operation *user) {
      if (!isa<attn::CacheType>(operand.getType()))
        return true;
      auto get = operand.getDefiningOp<attn::GetCacheOp>();
      return get ? take(get.getCacheAttr(), user) : operand.hasOneUse();
    };
    // Check operands and layer parameters.
    auto takeAll = [&](Operation *op) {
      if (auto layers = dyn_cast<attn::LayersOp>(op))
        for (attn::LayerAttr layer : layers.getLayerRange())
          for (FlatSymbolRefAttr name : layer.getParameters())
            if (!take(name, op))
              return false;
      return llvm::all_of(op->getOperands(), [&](Value operand) {
        return takeOperand(operand, op);
      });
    };
    auto check = [&](Operation *op) -> WalkResult {
      if (takeAll(op))
        return success();
      return op->emitOpError("expects a cache of its own");
    };
    return failure(getOperation().walk(check).wasInterrupted());
  }

  void convertWeights(SymbolTable &symbols) {
    for (auto weight :
         llvm::make_early_inc_range(getOperation().getOps<attn::WeightOp>())) {
      auto type = getWeightType(weight.getType());
      OpBuilder b(weight);
      std::string name = weight.getSymName().str();
      symbols.remove(weight);
      symbols.insert(b.create<kern::WeightOp>(weight.getLoc(), name, type,
                                              weight.getExpr(), IntegerAttr()));
      weight.erase();
    }
  }

  void convertCaches(SymbolTable &symbols) {
    for (auto cache :
         llvm::make_early_inc_range(getOperation().getOps<attn::CacheOp>())) {
      OpBuilder b(cache);
      std::string name = cache.getSymName().str();
      kern::CacheType type = getCacheType(cache.getType());
      symbols.remove(cache);
      symbols.insert(b.create<kern::CacheOp>(cache.getLoc(), name, type,
                                             IntegerAttr(), IntegerAttr()));
      cache.erase();
    }
  }

  LogicalResult convertEntry(SymbolTable &symbols, func::FuncOp source) {
    Remarks remarks(getOperation());
    EntryState state(remarks);
    if (auto declared =
            getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols"))
      for (NamedAttribute symbol : declared)
        state.symbols.insert(symbol.getName().str());
    state.symbols.insert("parts");
    // Batches that the converter creates have other sizes.
    source.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (auto ragged = dyn_cast<attn::RaggedType>(type))
          state.symbols.insert(
              {ragged.getRows().str(), ragged.getKeys().str()});
    });
    AttnConverter converter(symbols, state);
    if (failed(converter.convertEntry(source)))
      return failure();
    converted += converter.converted();
    SmallVector<StringRef> order(state.symbols.begin(), state.symbols.end());
    state.function->setAttr("kern.symbols",
                            OpBuilder(&getContext()).getStrArrayAttr(order));
    return success();
  }
};

} // namespace
