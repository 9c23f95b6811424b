// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Equalizes the scales of equal attentions, so that their layers can share a
// body. The weight rows that compute the query absorb the scale ratio. They are
// found through rope, which is linear, and through slices of a GEMM that
// several projections share.
#include "passes/graph/LayerScales.h"
#include "passes/graph/GraphSupport.h"
#include "llvm/ADT/DenseMap.h"
#include <cmath>

using namespace mlir;
using namespace transom::attn;

namespace transom {

namespace {

/// The weight rows from which a value is computed in a GEMM.
struct ProductRows {
  LinearOp linear;
  int64_t start = 0, size = 0;
};

/// The weight rows that a slice along the last axis selects from a GEMM;
/// nullopt if another slice overlaps.
std::optional<ProductRows> slicedRows(SliceOp slice) {
  auto linear = slice.getInput().getDefiningOp<LinearOp>();
  int64_t last = getDims(slice.getInput()).size() - 1;
  if (!linear || static_cast<int64_t>(slice.getAxis()) != last)
    return std::nullopt;
  auto begin = [](SliceOp op) { return static_cast<int64_t>(op.getStart()); };
  auto size = [&](SliceOp op) {
    return *getDims(op.getResult()).back().constant();
  };
  for (Operation *user : linear->getUsers()) {
    auto other = dyn_cast<SliceOp>(user);
    bool apart = other && static_cast<int64_t>(other.getAxis()) == last &&
                 (begin(other) >= begin(slice) + size(slice) ||
                  begin(other) + size(other) <= begin(slice));
    if (other != slice && !apart)
      return std::nullopt;
  }
  return ProductRows{linear, begin(slice), size(slice)};
}

/// The weight rows that compute the query. Nullopt with position queries, since
/// their products with keys do not contain the query.
std::optional<ProductRows> queryRows(SdpaOp op) {
  if (op.getPositionQueries())
    return std::nullopt;
  Value query = op.getQuery();
  while (query.hasOneUse()) {
    if (auto rope = query.getDefiningOp<RopeOp>())
      query = rope.getInput();
    else if (auto slice = query.getDefiningOp<SliceOp>())
      return slicedRows(slice);
    else if (auto linear = query.getDefiningOp<LinearOp>())
      return ProductRows{linear, 0, *getDims(query).back().constant()};
    else
      break;
  }
  return std::nullopt;
}

/// Scales rows in weights that one operation reads.
class RowScaler {
public:
  RowScaler(ModuleOp module, SymbolTable &symbols) : symbols(symbols) {
    module.walk([&](GetWeightOp op) { ++readers[op.getWeight()]; });
  }

  /// Returns false, and changes nothing, if a weight has other readers.
  bool scale(const ProductRows &rows, double factor) {
    LinearOp linear = rows.linear;
    WeightOp weight = ownWeight(linear.getWeight());
    WeightOp bias = linear.getBias() ? ownWeight(linear.getBias()) : weight;
    if (!weight || !bias)
      return false;
    scaleRows(weight, rows, factor);
    if (bias != weight)
      scaleRows(bias, rows, factor);
    return true;
  }

private:
  WeightOp ownWeight(Value value) {
    auto get = value.getDefiningOp<GetWeightOp>();
    if (!get || !value.hasOneUse() || readers.lookup(get.getWeight()) != 1)
      return {};
    return symbols.lookup<WeightOp>(get.getWeight());
  }

  static void scaleRows(WeightOp weight, const ProductRows &rows,
                        double factor) {
    WeightExpr whole = weight.getExpr().getExpr();
    int64_t count = cast<RankedTensorType>(weight.getType()).getDimSize(0);
    int64_t end = rows.start + rows.size;
    std::vector<WeightExpr> ranges;
    if (rows.start > 0)
      ranges.push_back(WeightExpr::slice(whole, 0, 0, rows.start));
    ranges.push_back(WeightExpr::scale(
        rows.size == count ? whole
                           : WeightExpr::slice(whole, 0, rows.start, rows.size),
        factor));
    if (end < count)
      ranges.push_back(WeightExpr::slice(whole, 0, end, count - end));
    weight.setExprAttr(weights::ExprAttr::get(
        weight.getContext(),
        ranges.size() == 1 ? ranges[0] : WeightExpr::concat(0, ranges)));
  }

  SymbolTable &symbols;
  llvm::StringMap<int> readers; // get_weight operations per symbol
};

} // namespace

/// All attention attributes except the scale.
static Attribute withoutScale(SdpaOp op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(op.getScaleAttrName());
  return attributes.getDictionary(op.getContext());
}

void equalizeScales(func::FuncOp entry, SymbolTable &symbols,
                    Remarks &remarks) {
  RowScaler scaler(entry->getParentOfType<ModuleOp>(), symbols);
  llvm::DenseMap<Attribute, FloatAttr> scales;
  for (SdpaOp op : entry.getOps<SdpaOp>()) {
    // Compare with the scale of the first attention that is equal otherwise.
    auto [first, isNew] =
        scales.try_emplace(withoutScale(op), op.getScaleAttr());
    double scale = op.getScale().convertToDouble();
    double factor = scale / first->second.getValueAsDouble();
    if (isNew || factor == 1 || !std::isfinite(factor) || factor == 0)
      continue;

    // Move the ratio into the weight.
    std::optional<ProductRows> rows = queryRows(op);
    if (!rows || !scaler.scale(*rows, factor)) {
      remarks.report(op, {RemarkId::AttentionScaleStays,
                          {{"scale", scale},
                           {"common", first->second.getValueAsDouble()},
                           {"query", op.getQuery()}}});
      continue;
    }
    op.setScaleAttr(first->second);
    remarks.report(op, {RemarkId::AttentionScaleMoved,
                        {{"scale", scale},
                         {"common", first->second.getValueAsDouble()},
                         {"factor", factor}}});
  }
}

} // namespace transom
