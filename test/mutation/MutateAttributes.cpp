// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numeric, flag and enum attributes. Attributes that the operation does not use
// or that cannot change results (names, schedules, limits) are left alone.
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/mutation/LiveOperations.h"
#include "test/mutation/Mutations.h"
#include <cmath>
#include <set>

using namespace mlir;

namespace transom::testing {

/// Calls a function with each attribute in live operations.
template <typename Function>
static void forEachAttribute(ModuleOp module, Function function) {
  LiveOperations live(module);
  module.walk([&](Operation *op) {
    if (!live.contains(op) || isa<ModuleOp, func::FuncOp>(op))
      return;
    for (NamedAttribute attribute : op->getAttrs())
      function(op, attribute.getName().getValue(), attribute.getValue());
  });
}

static Edit setAttribute(Operation *op, StringRef name, Attribute value,
                         const std::string &what) {
  std::string text = name.str();
  return {op, what, [=] {
            op->setAttr(text, value);
            return op;
          }};
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Attributes that cannot change results, or are mutated elsewhere.
static bool isNoNumber(Operation *op, StringRef name) {
  static const std::set<StringRef> names = {"slot",     "operandSegmentSizes",
                                            "sym_name", "name",
                                            "group",    "limit",
                                            "schedule", "rows",
                                            "keys",     "batch",
                                            "size",     "columns"};
  if (isa<attn::WeightOp, kern::WeightOp, attn::CacheOp, kern::CacheOp>(op))
    return true;
  if (name == "size" && isa<kern::CopyOp>(op))
    return false;
  // A pad matters for ranks only.
  auto position = dyn_cast<attn::PositionOp>(op);
  return names.count(name) ||
         (name == "pad" && position &&
          position.getKind() == attn::PositionKind::Column);
}

/// Values up to -1e30 hide, whatever they are.
static bool hides(double x) { return x <= -1e30; }

static void changeFloat(Operation *op, StringRef name, FloatAttr number,
                        Edits &edits) {
  const double x = number.getValueAsDouble();
  if (!std::isfinite(x))
    return;
  for (double y : {2 * x, 1.01 * x, (1 + 1e-6) * x, x == 0 ? 1e-3 : 0.0, -x}) {
    auto changed = FloatAttr::get(number.getType(), y);
    // The sign in a rope factor affects both queries and keys.
    const bool isSquared = isa<attn::RopeTableOp>(op) && y == -x;
    if (changed != number && x != y && !(hides(x) && hides(y)) && !isSquared)
      edits.push_back(setAttribute(op, name, changed, name.str()));
  }
}

static void changeArray(Operation *op, StringRef name, DenseI64ArrayAttr array,
                        Edits &edits) {
  SmallVector<int64_t> values(array.asArrayRef());
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    SmallVector<int64_t> changed = values;
    std::swap(changed[i], changed[i + 1]);
    if (changed != values)
      edits.push_back(setAttribute(
          op, name, DenseI64ArrayAttr::get(op->getContext(), changed),
          name.str() + " permuted"));
  }
}

static void changeArray(Operation *op, StringRef name, DenseF64ArrayAttr array,
                        Edits &edits) {
  for (size_t i = 0; i < array.asArrayRef().size(); ++i) {
    SmallVector<double> changed(array.asArrayRef());
    changed[i] *= 1.5;
    edits.push_back(setAttribute(
        op, name, DenseF64ArrayAttr::get(op->getContext(), changed),
        name.str()));
  }
}

void changeNumbers(ModuleOp module, const TensorSource &, Edits &edits) {
  Builder b(module.getContext());
  forEachAttribute(module, [&](Operation *op, StringRef name, Attribute value) {
    if (isNoNumber(op, name))
      return;
    // Integers move by one in both directions.
    if (auto number = dyn_cast<IntegerAttr>(value);
        number && !number.getType().isInteger(1) &&
        !isa<arith::CmpFOp, arith::CmpIOp>(op)) {
      for (int64_t step : {-1, 1})
        edits.push_back(setAttribute(
            op, name,
            IntegerAttr::get(number.getType(), number.getInt() + step),
            name.str()));
    } else if (auto number = dyn_cast<FloatAttr>(value)) {
      changeFloat(op, name, number, edits);
    } else if (auto array = dyn_cast<DenseI64ArrayAttr>(value)) {
      changeArray(op, name, array, edits);
    } else if (auto array = dyn_cast<DenseF64ArrayAttr>(value)) {
      changeArray(op, name, array, edits);
    } else if (auto size = dyn_cast<StringAttr>(value);
               size && isa<kern::CopyOp>(op)) {
      for (const char *more : {"+1", "-1"})
        edits.push_back(setAttribute(
            op, name, b.getStringAttr(size.str() + more), name.str()));
    }
  });
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

/// Returns true for a matrix times its transpose, and for elementwise functions
/// on it.
static bool isSymmetric(Value matrix) {
  Operation *op = matrix.getDefiningOp();
  if (isa_and_nonnull<attn::ScaleOp, attn::ActivationOp>(op))
    return isSymmetric(op->getOperand(0));
  auto product = dyn_cast_or_null<attn::MatmulOp>(op);
  return product && product.getLhs() == product.getRhs() &&
         product.getTransposeLhs() != product.getTransposeRhs();
}

/// Returns true if each row's column is its index: batches without masks.
static bool hasAllColumns(Operation *op) {
  int batches = 0, masks = 0;
  op->getParentOfType<ModuleOp>().walk([&](kern::RaggedBatchOp batch) {
    ++batches;
    masks += bool(batch.getMask());
  });
  return batches > 0 && masks == 0;
}

/// Returns true for a flag that has a meaning with the operation's other
/// attributes.
static bool isUsed(Operation *op, StringRef flag) {
  // Only operations with this flag read the row that it adds.
  if (flag == "keep_first")
    return op->hasAttr(flag);
  if (auto product = dyn_cast<attn::MatmulOp>(op))
    return !isSymmetric(flag == "transpose_lhs" ? product.getLhs()
                                                : product.getRhs());
  // If two rows see each other by their columns in order, one also sees the
  // other by their indices.
  if (flag == "by_column") {
    auto attention = cast<kern::AttentionOp>(op);
    return !hasAllColumns(op) &&
           (attention.getWindow() > 0 || attention.getSlopes() ||
            attention.getRelativeBias() || attention.getPositionBuckets());
  }
  // One pair is the same either way.
  if (flag == "interleaved") {
    if (auto rope = dyn_cast<attn::RopeOp>(op))
      return cast<ShapedType>(rope.getRopeTable().getType()).getShape().back() >
             2;
    auto table = getBufferType(cast<kern::RopeOp>(op).getRopeTable());
    return table.getDims().back() != Polynomial(2);
  }
  return true;
}

void flipFlags(ModuleOp module, const TensorSource &, Edits &edits) {
  static const std::set<StringRef> flags = {
      "causal",      "transpose_lhs", "transpose_rhs",
      "interleaved", "keep_first",    "by_column",
      "rms"};
  LiveOperations live(module);
  module.walk([&](Operation *op) {
    if (!live.contains(op) || !op->isRegistered())
      return;
    for (StringAttr name : op->getName().getAttributeNames()) {
      if (!flags.count(name.getValue()) || !isUsed(op, name.getValue()))
        continue;
      const bool isSet = op->hasAttr(name);
      edits.push_back({op, (isSet ? "not " : "") + name.str(), [=] {
                         if (isSet)
                           op->removeAttr(name);
                         else
                           op->setAttr(name, UnitAttr::get(op->getContext()));
                         return op;
                       }});
    }
  });
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The same attribute with each other keyword that it allows.
template <typename AttrT>
static void addWords(AttrT attribute, int count, SmallVector<Attribute> &all) {
  using Enum = decltype(attribute.getValue());
  for (int i = 0; i < count; ++i)
    if (static_cast<Enum>(i) != attribute.getValue())
      all.push_back(AttrT::get(attribute.getContext(), static_cast<Enum>(i)));
}

/// Epilogues with another activation or norm.
static void addEpilogues(kern::EpilogueAttr epilogue,
                         SmallVector<Attribute> &all) {
  MLIRContext *context = epilogue.getContext();
  if (auto own = epilogue.getActivation()) {
    SmallVector<Attribute> words;
    addWords(own, getActivations().size(), words);
    for (Attribute word : words)
      all.push_back(kern::EpilogueAttr::get(
          context, cast<kern::ActivationAttr>(word), epilogue.getGlu(),
          epilogue.getNorm(), epilogue.getEps()));
  }
  if (epilogue.getNorm() == kern::NormKind::None)
    return;
  const bool isRms = epilogue.getNorm() == kern::NormKind::RmsNorm;
  all.push_back(kern::EpilogueAttr::get(
      context, epilogue.getActivation(), epilogue.getGlu(),
      isRms ? kern::NormKind::LayerNorm : kern::NormKind::RmsNorm,
      epilogue.getEps()));
  all.push_back(kern::EpilogueAttr::get(
      context, epilogue.getActivation(), epilogue.getGlu(), epilogue.getNorm(),
      FloatAttr::get(epilogue.getEps().getType(),
                     2 * epilogue.getEps().getValueAsDouble() + 1e-6)));
}

static SmallVector<Attribute> getOtherWords(Attribute value) {
  SmallVector<Attribute> all;
  const int activations = static_cast<int>(getActivations().size());
  if (auto word = dyn_cast<attn::ActivationAttr>(value))
    addWords(word, activations, all);
  else if (auto word = dyn_cast<kern::ActivationAttr>(value))
    addWords(word, activations, all);
  else if (auto word = dyn_cast<attn::PoolKindAttr>(value))
    addWords(word, attn::getMaxEnumValForPoolKind() + 1, all);
  else if (auto word = dyn_cast<kern::PoolKindAttr>(value))
    addWords(word, kern::getMaxEnumValForPoolKind() + 1, all);
  else if (auto word = dyn_cast<attn::PositionKindAttr>(value))
    addWords(word, 2, all);
  else if (auto word = dyn_cast<attn::MaskKindAttr>(value))
    addWords(word, 5, all);
  else if (auto epilogue = dyn_cast<kern::EpilogueAttr>(value))
    addEpilogues(epilogue, all);
  return all;
}

void changeWords(ModuleOp module, const TensorSource &, Edits &edits) {
  forEachAttribute(module, [&](Operation *op, StringRef name, Attribute value) {
    for (Attribute word : getOtherWords(value))
      edits.push_back(setAttribute(op, name, word, name.str()));
  });
}

} // namespace transom::testing
