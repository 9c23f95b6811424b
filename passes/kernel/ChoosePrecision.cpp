// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First weights and attention choose their formats; then casts round the
// operands that they read; finally casts are fused into the producers. See
// Quantizer.cpp for integers.
#include "dialects/weights/StoredGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/CastFuser.h"
#include "passes/kernel/Passes.h"
#include "passes/kernel/Quantizer.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "kern-choose-precision"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_CHOOSEPRECISIONPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// The same buffer type with bf16 elements.
static kern::BufferType inBf16(kern::BufferType type) {
  return kern::BufferType::get(type.getContext(), type.getDims(),
                               BFloat16Type::get(type.getContext()),
                               type.getStride(), type.getKeyPanels());
}

/// Formats for GEMM weights and embedding tables, by the value of
/// `transom.dtype`.
static const std::pair<const char *, OperandFormat> kWeightFormats[] = {
    {"bf16", OperandFormat(StorageType::BF16)}};

/// Fails if the attribute value is not supported; empty: no attribute.
static LogicalResult checkDType(ModuleOp module, StringRef attribute,
                                StringRef dtype,
                                ArrayRef<std::string> supported) {
  if (dtype.empty() || llvm::is_contained(supported, dtype))
    return success();
  return module.emitError()
         << "'" << attribute << "' '" << dtype
         << "' is not supported; supported: " << llvm::join(supported, ", ");
}

/// The f32 operands that an operation needs in bf16.
static SmallVector<OpOperand *> getOperandsToRound(Operation &op) {
  SmallVector<OpOperand *> operands;
  auto add = [&](OpOperand &operand) {
    if (getBufferType(operand.get()).isF32())
      operands.push_back(&operand);
  };
  if (auto product = dyn_cast<kern::WeightProductOp>(op))
    if (product.getWeightType().getFormat().getOperandType().isBF16())
      add(product.getInputMutable());
  if (auto attention = dyn_cast<kern::AttentionOp>(op)) {
    kern::CacheType cache = attention.getCacheType();
    OperandFormat keys = cache ? cache.getFormat()
                               : getBufferType(attention.getKey()).getFormat();
    if (keys.getOperandType() != StorageType::F32) {
      add(attention.getQueryMutable());
      if (!cache)
        add(attention.getValueMutable()[0]);
    }
  }
  return operands;
}

namespace {

struct ChoosePrecisionPass
    : public transom::impl::ChoosePrecisionPassBase<ChoosePrecisionPass> {
  void runOnOperation() override {
    // Read the options, and check them.
    StringRef weights = getDType("transom.dtype"),
              caches = getDType("transom.kv_dtype");
    const auto quantize = QuantizeOptions::get(getOperation());
    ModuleOp module = getOperation();
    const bool isStored = llvm::any_of(
        module.getOps<kern::WeightOp>(), [](kern::WeightOp weight) {
          return readsStored(weight.getExpr().getExpr());
        });
    if (weights.empty() && caches.empty() && !quantize.hasFormats() &&
        !isStored)
      return;
    std::vector<std::string> formats{"f32"};
    for (const auto &entry : kWeightFormats)
      formats.emplace_back(entry.first);
    if (failed(checkDType(module, "transom.dtype", weights, formats)) ||
        failed(
            checkDType(module, "transom.kv_dtype", caches, getCacheOptions())))
      return signalPassFailure();
    Remarks remarks(getOperation());
    // Quantize first, because `transom.dtype` applies to the remaining weights.
    if (quantize.hasFormats() || isStored)
      products += quantizeProducts(module, quantize, remarks);
    for (const auto &[dtype, format] : kWeightFormats)
      if (weights == dtype) {
        chooseWeights(format, remarks);
        if (format.getOperandType() == StorageType::BF16)
          chooseAttention(remarks);
      }
    std::optional<StorageType> storage = parseCacheOption(caches);
    if (storage && storage != StorageType::F32)
      chooseCaches(*storage, remarks);
    // Insert casts, and fuse them into the producers.
    for (auto function : getOperation().getOps<func::FuncOp>())
      insertCasts(function);
    SmallVector<kern::LayersOp> runs;
    getOperation().walk([&](kern::LayersOp layers) { runs.push_back(layers); });
    for (kern::LayersOp layers : runs)
      carryState(layers, remarks);
    fuseCasts(remarks);
  }

  /// The value of a module attribute; empty if it is absent.
  StringRef getDType(StringRef attribute) {
    auto dtype = getOperation()->getAttrOfType<StringAttr>(attribute);
    return dtype ? dtype.getValue() : StringRef();
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  void chooseWeights(const OperandFormat &format, Remarks &remarks) {
    WeightUses uses(getOperation());
    getOperation().walk([&](kern::EmbeddingOp embedding) {
      for (Value table : embedding.getTables()) {
        if (cast<kern::WeightType>(table.getType()).isGrouped())
          continue;
        Operation *reader = uses.setFormat(table, format);
        reportTable(embedding, table, reader, remarks);
      }
    });
    getOperation().walk([&](kern::WeightProductOp product) {
      if (product.getWeightType().isGrouped())
        return;
      if (Operation *reader = uses.setFormat(product.getWeight(), format)) {
        remarks.report(product,
                       {RemarkId::WeightIsReadInF32, {{"reader", reader}}});
        return;
      }
      ++products;
      remarks.report(product, {RemarkId::ProductPrecisionChosen,
                               {{"dtype", getDType("transom.dtype")}}});
    });
  }

  void reportTable(kern::EmbeddingOp embedding, Value table, Operation *reader,
                   Remarks &remarks) {
    RemarkArgument name("table", table);
    if (reader)
      remarks.report(embedding,
                     {RemarkId::TableIsReadInF32, {name, {"reader", reader}}});
    else
      remarks.report(embedding, {RemarkId::TablePrecisionChosen,
                                 {name, {"dtype", getDType("transom.dtype")}}});
  }

  //===--------------------------------------------------------------------===//
  // Attention
  //===--------------------------------------------------------------------===//

  /// The reason why an attention stays f32, or nullopt.
  static std::optional<RemarkReason> refusal(kern::AttentionOp op) {
    int64_t head = *getBufferType(op.getQuery()).getDims().back().constant() /
                   op.getHeads();
    if (head % 2)
      return RemarkReason(RemarkId::AttentionHeadSizeIsOdd,
                          {{"head_size", head}});
    Operation *writer = lastWriterBefore(op, op.getKey());
    if (!isa_and_nonnull<kern::GemmOp, kern::PackKeysOp>(writer) ||
        !op.getKey().getDefiningOp<kern::AllocOp>())
      return RemarkReason(
          RemarkId::KeysComeFromElsewhere,
          {{"writer", writer ? getRemarkText(writer) : "the caller"}});
    if (onlyReader(op.getKey()) != op)
      return RemarkReason(RemarkId::KeysHaveOtherReader,
                          {{"readers", getBufferReaders(op.getKey(), op)}});
    if (auto gemm = dyn_cast<kern::GemmOp>(writer)) {
      kern::WeightType weight = gemm.getWeight().getType();
      if (weight.getShape()[1] > kern::getMaxKBlock(weight))
        return RemarkReason(RemarkId::KeysOfLongK,
                            {{"product", writer},
                             {"k", weight.getShape()[1]},
                             {"limit", kern::getMaxKBlock(weight)}});
    }
    return std::nullopt;
  }

  /// Attention in bf16 may need more memory.
  static void resizeMemory(kern::AttentionOp op) {
    const int64_t valueSize =
        *getBufferType(op.getOuts()).getDims().back().constant() /
        op.getHeads();
    const bool suitsAmx =
        kern::suitsAmx(inBf16(getBufferType(op.getQuery())), op.getHeads(),
                       /*hasCache=*/false, op.getCausal());
    auto resize = [&](Value buffer, int64_t floats) {
      auto type = getBufferType(buffer);
      Polynomial dims[] = {type.getRowCount(), floats};
      buffer.setType(
          kern::BufferType::get(op.getContext(), dims, type.getElementType()));
    };
    resize(op.getScratch(), kern::getAttentionScratchFloats(
                                op.getSchedule(), valueSize, suitsAmx));
    if (op.getPartials())
      resize(op.getPartials(),
             kern::kSplitKvSlots *
                 kern::getAttentionSlotFloats(valueSize, suitsAmx));
  }

  void chooseAttention(Remarks &remarks) {
    getOperation().walk([&](kern::AttentionOp op) {
      if (op.getCache())
        return;
      if (std::optional<RemarkReason> reason = refusal(op)) {
        remarks.report(op, *reason);
        return;
      }
      op.getKey().setType(inBf16(getBufferType(op.getKey())));
      resizeMemory(op);
      ++attentions;
      remarks.report(op, RemarkId::AttentionPrecisionChosen);
    });
  }

  /// All caches have the same type, since layer bodies share their parameter
  /// types.
  void chooseCaches(StorageType storage, Remarks &remarks) {
    // All head sizes must fit the format.
    SmallVector<kern::CacheOp> all(getOperation().getOps<kern::CacheOp>());
    int64_t interleave = OperandFormat::getCache(storage).interleave;
    for (kern::CacheOp cache : all)
      if (int64_t size = cast<kern::CacheType>(cache.getType()).getKey();
          size % interleave) {
        remarks.report(cache, {RemarkId::CacheHeadSizeUnsupported,
                               {{"cache", cache.getSymName()},
                                {"head_size", size},
                                {"multiple", interleave}}});
        return;
      }
    // Replace the cache types everywhere.
    Type element = kern::getType(&getContext(), storage);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](kern::CacheType type) -> Type {
      return kern::CacheType::get(&getContext(), type.getHeads(), type.getKey(),
                                  type.getValue(), type.getWindow(),
                                  type.getPositions(), element);
    });
    replacer.recursivelyReplaceElementsIn(getOperation(), true, false, true);
    for (kern::CacheOp cache : all) {
      ++caches;
      remarks.report(cache, {RemarkId::CachePrecisionChosen,
                             {{"dtype", getDType("transom.kv_dtype")}}});
    }
  }

  //===--------------------------------------------------------------------===//
  // Casts
  //===--------------------------------------------------------------------===//

  /// Rounds operands to bf16, each buffer once until it is written again.
  void insertCasts(func::FuncOp function) {
    DenseMap<Value, Value> rounded;
    for (Operation &op :
         llvm::make_early_inc_range(function.getBody().front())) {
      for (OpOperand *operand : getOperandsToRound(op)) {
        Value storage = kern::getStorage(operand->get());
        Value &copy = rounded[storage];
        if (!copy)
          copy = insertCast(&op, storage);
        replace(*operand, copy);
      }
      for (auto &[storage, copy] : rounded)
        if (writes(op, storage))
          copy = Value();
    }
  }

  Value insertCast(Operation *reader, Value storage) {
    OpBuilder b(reader);
    Value copy = b.create<kern::AllocOp>(
        reader->getLoc(), inBf16(getBufferType(storage)), IntegerAttr());
    b.create<kern::CastOp>(reader->getLoc(), storage, copy);
    return copy;
  }

  /// Replaces an operand's buffer by a rounded copy with the same shape.
  static void replace(OpOperand &operand, Value copy) {
    Value old = operand.get();
    if (inBf16(getBufferType(old)) != copy.getType()) {
      OpBuilder b(operand.getOwner());
      copy = b.create<kern::ViewOp>(old.getLoc(), inBf16(getBufferType(old)),
                                    copy);
    }
    operand.set(copy);
    while (auto view = old.getDefiningOp<kern::ViewOp>()) {
      if (!view->use_empty())
        break;
      old = view.getSource();
      view.erase();
    }
  }

  //===--------------------------------------------------------------------===//
  // The layer state
  //===--------------------------------------------------------------------===//

  /// The operation that rounds the state on entry to a body, in the same way as
  /// `like` unless that is null; or null.
  static Operation *roundingOfState(func::FuncOp body,
                                    Operation *like = nullptr) {
    Value state = body.getArgument(0);
    for (Operation &op : body.getOps())
      if (getRounded(&op) && op.getOperand(0) == state &&
          !lastWriterBefore(&op, state) && (!like || isAlike(&op, like)))
        return &op;
    return nullptr;
  }

  /// True if both operations round in the same way.
  static bool isAlike(Operation *op, Operation *other) {
    return op->getName() == other->getName() &&
           op->getAttrDictionary() == other->getAttrDictionary();
  }

  /// The last writer of the state if it is a norm, or a GEMM with a norm; null
  /// otherwise.
  static Operation *lastNorm(func::FuncOp body) {
    Value state = body.getArgument(0);
    Operation *writer = lastWriterBefore(&body.getBody().front().back(), state);
    if (auto norm = dyn_cast_or_null<kern::NormOp>(writer))
      return norm.getOuts() == state ? writer : nullptr;
    if (auto gemm = dyn_cast_or_null<kern::GemmOp>(writer))
      return gemm.getNormOut() == state ? writer : nullptr;
    return nullptr;
  }

  /// If a body begins by rounding its state, the norm at the end of the
  /// previous layer rounds it instead.
  void carryState(kern::LayersOp layers, Remarks &remarks) {
    // Find the rounding, and a norm at the end of each body.
    SmallVector<func::FuncOp> bodies;
    Operation *first = nullptr;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      auto body = getOperation().lookupSymbol<func::FuncOp>(layer.getBody());
      if (!llvm::is_contained(bodies, body))
        bodies.push_back(body);
      if (!first)
        first = roundingOfState(body);
    }
    if (!first)
      return; // no body begins by rounding its state
    for (func::FuncOp body : bodies)
      if (!lastNorm(body)) {
        Operation *last = lastWriterBefore(&body.getBody().front().back(),
                                           body.getArgument(0));
        remarks.report(layers,
                       {RemarkId::StateIsNotCarried,
                        {{"body", body.getName()},
                         {"last", last ? getRemarkText(last) : "nothing"}}});
        return;
      }
    remarks.report(layers, {RemarkId::StateIsCarried,
                            {{"layers", layers.getLayers().size()}}});
    // Round the initial state before the layers, and pass the copies as
    // invariants.
    const unsigned index = layers->getNumOperands();
    OpBuilder b(layers);
    SmallVector<Value> copies;
    for (Value out : cast<kern::BufferOp>(first).writtenBuffers())
      copies.push_back(b.create<kern::AllocOp>(layers.getLoc(), out.getType(),
                                               IntegerAttr()));
    Operation *before =
        insertLike(b, first, layers.getLoc(), layers.getState(), copies);
    layers.getInvariantsMutable().append(copies);
    for (func::FuncOp body : bodies)
      carryThrough(body, index, before);
    // After the layers, the rounded state exists already.
    for (Operation &op : llvm::make_early_inc_range(*layers->getBlock()))
      if (layers->isBeforeInBlock(&op) && isAlike(&op, before) &&
          op.getOperand(0) == layers.getState() &&
          lastWriterBefore(&op, layers.getState()) == layers)
        replaceRounding(&op, copies);
  }

  /// Rounds `input` to `targets` in the same way as `like`.
  static Operation *insertLike(OpBuilder &b, Operation *like, Location location,
                               Value input, ValueRange targets) {
    Operation *made = b.clone(*like);
    made->setLoc(location);
    made->setOperand(0, input);
    made->setOperands(1, targets.size(), targets);
    return made;
  }

  /// Erases a rounding whose results `copies` already contains.
  static void replaceRounding(Operation *op, ValueRange copies) {
    SmallVector<Value> written = cast<kern::BufferOp>(op).writtenBuffers();
    op->erase();
    for (auto [old, copy] : llvm::zip_equal(written, copies)) {
      old.replaceAllUsesWith(copy);
      old.getDefiningOp()->erase();
    }
  }

  /// Passes the rounded state to a body as arguments, which are read at the
  /// start and written at the end.
  static void carryThrough(func::FuncOp body, unsigned index, Operation *like) {
    Value state = body.getArgument(0);
    Operation *rounding = roundingOfState(body, like);
    SmallVector<Value> carried;
    for (Value copy : cast<kern::BufferOp>(like).writtenBuffers()) {
      const unsigned at = index + carried.size();
      body.insertArgument(at, copy.getType(), {}, body.getLoc());
      carried.push_back(body.getArgument(at));
    }
    if (rounding)
      replaceRounding(rounding, carried);
    OpBuilder b(&body.getBody().front().back());
    insertLike(b, like, lastNorm(body)->getLoc(), state, carried);
  }

  void fuseCasts(Remarks &remarks) {
    SmallVector<Operation *> all;
    getOperation().walk([&](Operation *op) {
      if (getRounded(op))
        all.push_back(op);
    });
    for (Operation *rounding : all) {
      if (std::optional<RemarkReason> reason = CastFuser(rounding).fuse()) {
        remarks.report(rounding, *reason);
        ++casts;
      } else {
        ++fused;
      }
    }
  }
};

} // namespace
