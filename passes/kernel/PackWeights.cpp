// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses layouts by use, stores equal weights once, and places weights in
// definition order.
#include "passes/Remarks.h"
#include "passes/kernel/BufferUses.h"
#include "passes/kernel/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#define DEBUG_TYPE "kern-pack-weights"

using namespace mlir;
using namespace transom;

namespace transom {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "passes/kernel/Passes.h.inc"
} // namespace transom

/// GEMMs whose panels have less padding, or that have a smaller share of all
/// GEMM weights, are not reported; in percent.
static constexpr int64_t kReportedWaste = 10, kReportedShare = 2;

/// The layout that an operation requires for a weight operand; nullopt for an
/// embedding, which reads rows and panels.
static std::optional<WeightLayout> getLayoutForUse(OpOperand &use) {
  if (auto gemm = dyn_cast<kern::GemmOp>(use.getOwner())) {
    if (use.get() == gemm.getWeight())
      return WeightLayout::Panels32;
    if (use.get() == gemm.getBias())
      return WeightLayout::Padded32;
    return WeightLayout::Rows;
  }
  if (auto gemm = dyn_cast<kern::GroupGemmOp>(use.getOwner()))
    return use.get() == gemm.getWeight() ? WeightLayout::Panels32
                                         : WeightLayout::Padded32;
  if (isa<kern::HeadGemmOp>(use.getOwner()))
    return WeightLayout::Panels32;
  if (isa<kern::EmbeddingOp>(use.getOwner()))
    return std::nullopt;
  return WeightLayout::Rows;
}

/// The layout of a weight that only embeddings read. Grouped formats have no
/// row layout.
static WeightLayout getLayoutOfTable(Value value) {
  return cast<kern::WeightType>(value.getType()).isGrouped()
             ? WeightLayout::Panels32
             : WeightLayout::Rows;
}

namespace {

struct PackWeightsPass
    : public transom::impl::PackWeightsPassBase<PackWeightsPass> {
  void runOnOperation() override {
    Remarks remarks(getOperation());
    // Store each weight once per layout.
    joinEqualWeights(remarks);
    separateLayouts(remarks);
    dropUnusedWeights();
    // Set the layouts that uses require; the other weights are tables.
    WeightUses uses(getOperation());
    SmallVector<Value> values = weightValues();
    for (Value value : values)
      for (OpOperand &use : value.getUses())
        if (std::optional<WeightLayout> layout = getLayoutForUse(use))
          setLayout(uses, value, *layout, getSplits(use));
    for (Value value : values)
      if (cast<kern::WeightType>(value.getType()).getLayout() ==
          WeightLayout::Unset)
        setLayout(uses, value, getLayoutOfTable(value), {});
    // Assign weight offsets, and allocate panels for listed columns.
    placeWeights();
    getOperation().walk([&](kern::GemmOp gemm) {
      if (gemm.getColumns() && !gemm.getPanels())
        allocatePanels(gemm, remarks);
    });
    report(remarks);
    reportPadding(WeightUses(getOperation()), remarks);
  }

  /// Drops unused weights, which would otherwise be stored in the artifact.
  void dropUnusedWeights() {
    llvm::StringSet<> used;
    auto note = [&](FlatSymbolRefAttr name) { used.insert(name.getValue()); };
    getOperation().walk(
        [&](kern::GetWeightOp get) { note(get.getWeightAttr()); });
    getOperation().walk([&](kern::LayersOp layers) {
      for (kern::LayerAttr layer : layers.getLayerRange())
        llvm::for_each(layer.getParameters(), note);
    });
    for (auto weight :
         llvm::make_early_inc_range(getOperation().getOps<kern::WeightOp>()))
      if (!used.contains(weight.getSymName()))
        weight.erase();
  }

  SmallVector<Value> weightValues() {
    SmallVector<Value> values;
    getOperation().walk(
        [&](kern::GetWeightOp get) { values.push_back(get.getResult()); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments())
        if (isa<kern::WeightType>(argument.getType()))
          values.push_back(argument);
    return values;
  }

  /// A GEMM by head begins each head at a panel border; other GEMMs have their
  /// splits already.
  static SmallVector<int64_t> getSplits(OpOperand &use) {
    auto gemm = dyn_cast<kern::HeadGemmOp>(use.getOwner());
    return gemm ? SmallVector<int64_t>(gemm.getHeads(), gemm.getHeadColumns())
                : SmallVector<int64_t>();
  }

  /// Sets a weight's layout, and its splits if any.
  static void setLayout(WeightUses &uses, Value value, WeightLayout layout,
                        ArrayRef<int64_t> splits) {
    uses.retype(value, [&](kern::WeightType type) {
      return kern::WeightType::get(type.getContext(), type.getShape(),
                                   type.getFormat(), layout,
                                   splits.empty() ? type.getSplits() : splits);
    });
  }

  /// Replaces references to a symbol everywhere, including layer tables.
  void rename(const llvm::StringMap<StringAttr> &replacement) {
    AttrTypeReplacer replacer;
    replacer.addReplacement(
        [&](FlatSymbolRefAttr ref) -> std::optional<Attribute> {
          auto found = replacement.find(ref.getValue());
          if (found == replacement.end())
            return std::nullopt;
          return FlatSymbolRefAttr::get(found->second);
        });
    getOperation().walk([&](Operation *op) {
      if (isa<kern::GetWeightOp, kern::LayersOp>(op))
        replacer.replaceElementsIn(op);
    });
  }

  void joinEqualWeights(Remarks &remarks) {
    llvm::StringMap<kern::WeightOp> seen;
    llvm::StringMap<StringAttr> replacement;
    for (auto weight :
         llvm::make_early_inc_range(getOperation().getOps<kern::WeightOp>())) {
      std::string key;
      llvm::raw_string_ostream(key)
          << weight.getType() << " " << weight.getExpr().getText();
      auto [first, isNew] = seen.try_emplace(key, weight);
      if (isNew)
        continue;
      replacement[weight.getSymName()] = first->second.getSymNameAttr();
      remarks.report(weight, {RemarkId::WeightStoredOnce,
                              {{"weight", weight.getSymName()},
                               {"other", first->second.getSymName()}}});
      weight.erase();
    }
    rename(replacement);
  }

  /// Copies a weight that needs two layouts, for the get_weight operations that
  /// need a layout other than the first.
  void separateLayouts(Remarks &remarks) {
    SymbolTable symbols(getOperation());
    std::map<std::string, WeightLayout> first;
    std::map<std::pair<std::string, WeightLayout>, StringAttr> copies;
    // Returns the weight, or its copy, with a layout.
    auto resolve = [&](StringAttr name, WeightLayout layout) {
      auto [known, isNew] = first.try_emplace(name.str(), layout);
      if (isNew || known->second == layout)
        return name;
      StringAttr &copyName = copies[{name.str(), layout}];
      if (!copyName) {
        auto weight = symbols.lookup<kern::WeightOp>(name.getValue());
        auto copy = cast<kern::WeightOp>(weight->clone());
        copyName = symbols.insert(copy);
        remarks.report(weight, {RemarkId::WeightStoredTwice,
                                {{"weight", name.getValue()},
                                 {"layout", getLayoutName(known->second)},
                                 {"other", getLayoutName(layout)},
                                 {"bytes", weight.getType().getByteSize()}}});
      }
      return copyName;
    };
    // Resolve layers first, then the uses in functions.
    getOperation().walk([&](kern::LayersOp layers) {
      resolveLayers(layers, symbols, resolve);
    });
    getOperation().walk([&](kern::GetWeightOp get) {
      for (OpOperand &use : llvm::make_early_inc_range(get->getUses())) {
        std::optional<WeightLayout> layout = getLayoutForUse(use);
        if (!layout)
          continue;
        StringAttr name = resolve(get.getWeightAttr().getAttr(), *layout);
        if (name == get.getWeightAttr().getAttr())
          continue;
        OpBuilder b(get);
        use.set(b.create<kern::GetWeightOp>(get.getLoc(), get.getType(),
                                            FlatSymbolRefAttr::get(name)));
      }
    });
  }

  /// Gives each layer the weight copies that its body's uses need.
  void
  resolveLayers(kern::LayersOp layers, SymbolTable &symbols,
                function_ref<StringAttr(StringAttr, WeightLayout)> resolve) {
    SmallVector<kern::LayerAttr> resolved;
    for (kern::LayerAttr layer : layers.getLayerRange()) {
      func::FuncOp body = layers.getBody(layer, symbols);
      SmallVector<FlatSymbolRefAttr> parameters(layer.getParameters());
      for (auto [i, parameter] : llvm::enumerate(parameters)) {
        Value argument = body.getArgument(layers.getFirstParameter() + i);
        if (!isa<kern::WeightType>(argument.getType()))
          continue;
        for (OpOperand &use : argument.getUses())
          if (std::optional<WeightLayout> layout = getLayoutForUse(use))
            parameter =
                FlatSymbolRefAttr::get(resolve(parameter.getAttr(), *layout));
      }
      resolved.push_back(
          kern::LayerAttr::get(&getContext(), layer.getBody(), parameters));
    }
    layers.setLayers(resolved);
  }

  /// The maximum number of columns that a call may request: all weight columns,
  /// or fewer if the symbol has a smaller max.
  static int64_t getMostColumns(kern::GemmOp gemm) {
    int64_t most = gemm.getWeight().getType().getShape()[0];
    const Polynomial columns =
        getBufferType(gemm.getColumns()).getDims().front();
    auto module = gemm->getParentOfType<ModuleOp>();
    auto symbols = module->getAttrOfType<DictionaryAttr>("attn.symbols");
    auto limits =
        symbols ? symbols.getAs<DictionaryAttr>(columns.str()) : nullptr;
    auto max = limits ? limits.getAs<IntegerAttr>("max") : nullptr;
    return max && max.getInt() > 0 ? std::min(most, max.getInt()) : most;
  }

  void allocatePanels(kern::GemmOp gemm, Remarks &remarks) {
    OpBuilder b(gemm);
    const int64_t bytes = gemm.getColumnPanel().bytes,
                  most = getMostColumns(gemm),
                  panels = llvm::divideCeil(most, panelWidth);
    Polynomial dims[] = {Polynomial(panels), Polynomial(bytes)};
    gemm.getPanelsMutable().assign(b.create<kern::AllocOp>(
        gemm.getLoc(),
        kern::BufferType::get(&getContext(), dims, b.getI8Type()),
        IntegerAttr()));
    remarks.report(gemm, {RemarkId::ColumnsAreCopied,
                          {{"columns", most}, {"bytes", panels * bytes}}});
  }

  void report(Remarks &remarks) {
    std::map<WeightLayout, int64_t> counts;
    int64_t weights = 0;
    for (auto weight : getOperation().getOps<kern::WeightOp>()) {
      ++counts[weight.getType().getLayout()];
      ++weights;
    }
    if (!weights)
      return;
    auto total =
        getOperation()->getAttrOfType<IntegerAttr>("kern.weight_bytes");
    remarks.report(*getOperation().getOps<kern::WeightOp>().begin(),
                   {RemarkId::WeightsPlaced,
                    {{"weights", weights},
                     {"bytes", total.getInt()},
                     {"panels", counts[WeightLayout::Panels32]},
                     {"padded", counts[WeightLayout::Padded32]},
                     {"rows", counts[WeightLayout::Rows]}}});
  }

  /// The columns of a GEMM weight: `96`, or `32 + 32 + 32` with splits.
  static std::string getColumns(kern::WeightType type) {
    ArrayRef<int64_t> splits = type.getSplits();
    if (splits.empty())
      splits = type.getShape().take_front();
    return llvm::join(
        llvm::map_range(
            splits, [](int64_t columns) { return std::to_string(columns); }),
        " + ");
  }

  /// Reports GEMMs whose panels contain much padding, if they are relevant for
  /// the model. There is one remark per column layout.
  void reportPadding(const WeightUses &uses, Remarks &remarks) {
    struct Padding {
      SmallVector<Operation *> products;
      int64_t columns = 0, padded = 0;
      int64_t elements = 0; ///< in all GEMMs and layers
    };
    // Sum up elements by column layout.
    llvm::MapVector<StringAttr, Padding> all;
    int64_t total = 0;
    getOperation().walk([&](kern::GemmOp op) {
      if (op.getColumns())
        return; // columns of another GEMM's weight
      kern::WeightType type = op.getWeight().getType();
      Padding &padding = all[StringAttr::get(&getContext(), getColumns(type))];
      padding.products.push_back(op);
      padding.columns = type.getShape()[0];
      padding.padded = type.getPaddedStarts().back();
      int64_t elements = int64_t(uses.definitions(op.getWeight()).size()) *
                         padding.padded * type.getShape()[1];
      padding.elements += elements;
      total += elements;
    });
    for (const auto &[columns, padding] : all) {
      const int64_t wasted = padding.padded - padding.columns;
      if (100 * wasted < kReportedWaste * padding.padded ||
          100 * padding.elements < kReportedShare * total)
        continue; // costs little
      remarks.report(padding.products.front(),
                     {RemarkId::PanelsPartlyFilled,
                      {{"products", ArrayRef<Operation *>(padding.products)},
                       {"columns", columns.getValue()},
                       {"padded", padding.padded},
                       {"width", panelWidth},
                       {"waste", 100 * wasted / padding.padded}}});
    }
  }

  void placeWeights() {
    int64_t offset = 0;
    Builder b(&getContext());
    for (auto weight : getOperation().getOps<kern::WeightOp>()) {
      kern::WeightType type = weight.getType();
      if (type.getLayout() == WeightLayout::Panels32)
        ++packed;
      weight.setOffsetAttr(b.getI64IntegerAttr(offset));
      offset = llvm::alignTo(offset + type.getByteSize(), 64);
    }
    bytes += offset;
    getOperation()->setAttr("kern.weight_bytes", b.getI64IntegerAttr(offset));
  }
};

} // namespace
