// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors become buffers: weights and caches first, then each entry with its
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

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static Value constant(OpBuilder &b, Location loc, Type type, double value) {
  if (isa<FloatType>(type))
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, value));
  return b.create<arith::ConstantOp>(loc,
                                     b.getIntegerAttr(type, int64_t(value)));
}

static Value emitCast(OpBuilder &b, Location loc, Value x, Type to) {
  Type from = x.getType();
  if (from == to)
    return x;
  if (to.isInteger(1)) {
    Value zero = constant(b, loc, from, 0);
    if (isa<FloatType>(from))
      return b.create<arith::CmpFOp>(loc, arith::CmpFPredicate::UNE, x, zero);
    return b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, x, zero);
  }
  if (isa<FloatType>(to)) {
    if (from.isInteger(1))
      return b.create<arith::UIToFPOp>(loc, to, x);
    return b.create<arith::SIToFPOp>(loc, to, x);
  }
  if (isa<FloatType>(from))
    return b.create<arith::FPToSIOp>(loc, to, x);
  return b.create<arith::ExtUIOp>(loc, to, x);
}

template <typename FloatOp, typename IntOp>
static Value emitBinary(OpBuilder &b, Location loc, ValueRange x) {
  if (isa<FloatType>(x[0].getType()))
    return b.create<FloatOp>(loc, x[0], x[1]);
  return b.create<IntOp>(loc, x[0], x[1]);
}

Value transom::emitScalarOp(OpBuilder &b, Operation &op, ValueRange x) {
  Location loc = op.getLoc();
  if (isa<attn::AddOp>(op))
    return emitBinary<arith::AddFOp, arith::AddIOp>(b, loc, x);
  if (isa<attn::SubOp>(op))
    return emitBinary<arith::SubFOp, arith::SubIOp>(b, loc, x);
  if (isa<attn::MulOp>(op))
    return emitBinary<arith::MulFOp, arith::MulIOp>(b, loc, x);
  if (isa<attn::DivOp>(op))
    return emitBinary<arith::DivFOp, arith::DivSIOp>(b, loc, x);
  if (isa<attn::AndOp>(op))
    return b.create<arith::AndIOp>(loc, x[0], x[1]);
  if (isa<attn::OrOp>(op))
    return b.create<arith::OrIOp>(loc, x[0], x[1]);
  if (isa<attn::NotOp>(op))
    return b.create<arith::XOrIOp>(loc, x[0],
                                   constant(b, loc, x[0].getType(), 1));
  if (auto cast = dyn_cast<attn::CastOp>(op))
    return emitCast(b, loc, x[0], cast.getTo());
  if (auto scale = dyn_cast<attn::ScaleOp>(op)) {
    Value product = b.create<arith::MulFOp>(
        loc, x[0],
        constant(b, loc, x[0].getType(), scale.getFactor().convertToDouble()));
    double offset = scale.getOffset().convertToDouble();
    return offset == 0
               ? product
               : b.create<arith::AddFOp>(
                      loc, product, constant(b, loc, x[0].getType(), offset))
                     .getResult();
  }
  if (auto activation = dyn_cast<attn::ActivationOp>(op))
    return b.create<kern::ApplyOp>(loc, x[0].getType(), activation.getKind(),
                                   x[0]);
  if (isa<attn::WhereOp>(op))
    return b.create<arith::SelectOp>(loc, x[0], x[1], x[2]);
  auto mask = cast<attn::MaskOp>(op);
  return b.create<arith::SelectOp>(
      loc, x[1], x[0],
      constant(b, loc, x[0].getType(), mask.getValue().convertToDouble()));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

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
        entries.push_back(function); // others are on buffers already
    for (func::FuncOp entry : entries)
      if (failed(convertEntry(symbols, entry)))
        return signalPassFailure();
  }

  /// A cache has one attention, so that no order of theirs shows in it.
  LogicalResult checkCaches(SymbolTable &symbols) {
    DenseSet<StringAttr> taken;
    auto take = [&](FlatSymbolRefAttr name) {
      return taken.insert(name.getAttr()).second;
    };
    auto takeLayer = [&](attn::LayerAttr layer) {
      return llvm::all_of(layer.getParameters(), [&](FlatSymbolRefAttr name) {
        return !symbols.lookup<attn::CacheOp>(name.getValue()) || take(name);
      });
    };
    auto takeAll = [&](Operation *op) {
      if (auto layers = dyn_cast<attn::LayersOp>(op))
        return llvm::all_of(layers.getLayerRange(), takeLayer);
      auto sdpa = dyn_cast<attn::SdpaOp>(op);
      if (!sdpa || !sdpa.getCache())
        return true;
      auto get = sdpa.getCache().getDefiningOp<attn::GetCacheOp>();
      return get ? take(get.getCacheAttr()) : sdpa.getCache().hasOneUse();
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
    EntryState state;
    if (auto declared =
            getOperation()->getAttrOfType<DictionaryAttr>("attn.symbols"))
      for (NamedAttribute symbol : declared)
        state.symbols.insert(symbol.getName().str());
    state.symbols.insert("parts");
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
