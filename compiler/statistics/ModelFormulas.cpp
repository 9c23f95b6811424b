// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each formula term covers a range of components, whose operations explain why
// the exact count differs.
#include "compiler/statistics/ModelFormulas.h"
#include "compiler/statistics/EntrySizes.h"
#include "compiler/statistics/ModelCost.h"
#include "compiler/statistics/ModelParameters.h"
#include "dialects/common/Location.h"
#include <set>

using namespace mlir;
using namespace transom;

/// The sequence length for entries, if the model allows it.
static constexpr int64_t exampleLength = 512;

namespace {

/// An entry's matmuls by component.
struct EntryProducts {
  std::array<Polynomial, numComponents> flops;
  /// Distinct matmul shapes, such as `64 x 160`, and their counts.
  std::array<std::map<std::string, int64_t>, numComponents> shapes;
  std::set<LayerId> layers;
  int64_t width = 0, attentions = 0;
  bool isCausal = false, isWindowed = false, hasPositions = false,
       hasCross = false;
};

} // namespace

/// Returns the input and output columns for a matmul with a weight.
static std::pair<int64_t, int64_t> getColumns(Operation *op) {
  auto last = [](Value value) {
    auto shape = attn::getSymbolicShape(value.getType());
    return shape.empty() ? 0 : shape.back().constant().value_or(0);
  };
  return {last(op->getOperand(0)), last(op->getResult(0))};
}

static void addAttention(EntryProducts &products, Operation *op) {
  products.layers.insert(getLayerId(getModulePath(op->getLoc())));
  if (auto sdpa = dyn_cast<attn::SdpaOp>(op)) {
    products.isCausal |= sdpa.getCausal();
    products.isWindowed |= sdpa.getWindow() > 0;
    products.hasPositions |= sdpa.getPositionBuckets().has_value();
  }
  products.hasCross |= isa<attn::CrossSdpaOp>(op);
  // Attention without fusion consists of two matmuls.
  products.attentions += isa<attn::MatmulOp>(op) ? 1 : 2;
}

static EntryProducts getProducts(func::FuncOp entry,
                                 const ModelComponents &components) {
  EntryProducts products;
  for (Operation &op : entry.getBody().front()) {
    const Polynomial flops = getFlops(&op);
    if (flops == Polynomial())
      continue;
    const Component component = components.getComponent(&op);
    const auto index = static_cast<size_t>(component);
    products.flops[index] = products.flops[index] + flops;
    if (component == Component::Attention) {
      addAttention(products, &op);
      continue;
    }
    const auto [in, out] = getColumns(&op);
    ++products.shapes[index][std::to_string(in) + " x " + std::to_string(out)];
    if (!products.width && (component == Component::Query ||
                            component == Component::QueryKeyValue))
      products.width = in;
  }
  return products;
}

static int64_t countLayers(const EntryProducts &products) {
  const bool hasLayers =
      !products.layers.empty() && products.layers.begin()->isLayer();
  return hasLayers ? static_cast<int64_t>(products.layers.size())
                   : products.attentions / 2;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

/// Lists the shapes in the components from first to last: `2 of 64 x 160, 1 of
/// 160 x 64`.
static std::string listShapes(const EntryProducts &products, Component first,
                              Component last) {
  std::map<std::string, int64_t> all;
  for (auto i = static_cast<size_t>(first); i <= static_cast<size_t>(last); ++i)
    for (const auto &[shape, count] : products.shapes[i])
      all[shape] += count;
  std::string text;
  for (const auto &[shape, count] : all)
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " of " + shape;
  return text;
}

static double evaluate(const EntryProducts &products, const EntrySizes &sizes,
                       int64_t length, Component first, Component last,
                       bool allTokens = false) {
  double value = 0;
  for (auto i = static_cast<size_t>(first); i <= static_cast<size_t>(last); ++i)
    value += static_cast<double>(
        sizes.evaluate(products.flops[i], 1, length, allTokens).value_or(0));
  return value;
}

/// Returns the reason why scores differ from the textbook.
static std::string explainAttention(const EntryProducts &products) {
  std::string why;
  auto add = [&](const std::string &reason) {
    why += (why.empty() ? "" : "; ") + reason;
  };
  if (products.isCausal)
    add("a token sees the tokens before it and itself, s*(s+1)/2 pairs");
  if (products.isWindowed)
    add("a window limits what a token sees");
  if (products.hasCross)
    add("cross attention to a source of s tokens is included");
  if (products.hasPositions)
    add("products with relative positions are included");
  if (why.empty())
    add("the heads together are not d wide");
  return why;
}

/// Computes an entry's terms; the reason is empty if both counts agree.
static EntryFormulas getFormulas(StringRef name, const EntryProducts &products,
                                 const EntrySizes &sizes, int64_t length) {
  // A term without a formula is listed only if the model has it.
  EntryFormulas formulas{
      name.str(), countLayers(products), products.width, length, {}};
  const auto l = static_cast<double>(formulas.layers);
  const auto d = static_cast<double>(formulas.width);
  const auto s = static_cast<double>(length);
  auto add = [&](const char *term, const char *formula, double textbook,
                 Component first, Component last, const std::string &why) {
    const double exact = evaluate(products, sizes, length, first, last);
    if (formula[0] || exact > 0)
      formulas.terms.push_back({term, formula, textbook, exact,
                                exact == textbook ? std::string() : why});
  };
  // Terms with textbook formulas.
  add("attention_projections", "8*l*b*s*d^2", 8 * l * s * d * d,
      Component::Query, Component::Output,
      "the textbook has 4 of d x d a layer; this entry has " +
          listShapes(products, Component::Query, Component::Output));
  add("attention", "4*l*b*s^2*d", 4 * l * s * s * d, Component::Attention,
      Component::Attention, explainAttention(products));
  add("mlp", "16*l*b*s*d^2", 16 * l * s * d * d, Component::Mlp, Component::Mlp,
      "the textbook has d x 4d and 4d x d a layer; this entry has " +
          listShapes(products, Component::Mlp, Component::Mlp));
  // Terms that the textbook lacks.
  const bool forAll =
      evaluate(products, sizes, length, Component::Head, Component::Head) ==
      evaluate(products, sizes, length, Component::Head, Component::Head, true);
  add("head", "", 0, Component::Head, Component::Head,
      "not in the formula; " +
          listShapes(products, Component::Head, Component::Head) +
          (forAll ? "" : ", for the last token only"));
  add("embedding", "", 0, Component::Embedding, Component::Embedding,
      "not in the formula; " +
          listShapes(products, Component::Embedding, Component::Embedding));
  add("other", "", 0, Component::Other, Component::Other,
      "not in the formula; products that belong to no component");
  return formulas;
}

/// Compares 12 l d^2 with the parameters in layer matrices.
static FormulaTerm getParameterTerm(const FormulaReport &report,
                                    const ParameterReport &parameters) {
  FormulaTerm term{"parameters", "12*l*d^2", 0, 0, ""};
  term.textbook =
      12.0 * static_cast<double>(report.layers * report.width * report.width);
  std::set<std::string> matrices;
  for (auto i = static_cast<size_t>(Component::Query);
       i <= static_cast<size_t>(Component::Mlp); ++i)
    matrices.insert(getComponentName(static_cast<Component>(i)));
  for (const auto &[name, count] : parameters.components)
    if (matrices.count(name))
      term.exact += static_cast<double>(count);
  if (term.exact != term.textbook)
    term.why = "the reasons are those of the products below";
  return term;
}

FormulaReport transom::reportFormulas(ModuleOp module,
                                      const ParameterReport &parameters,
                                      const ModelComponents &components) {
  FormulaReport report;
  const int64_t length =
      std::min(exampleLength, getMaxLength(module).value_or(exampleLength));
  report.training = {
      "training", "6*N*D",
      6.0 * static_cast<double>(countParameters(parameters.components)), 0, ""};
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isDeclaration())
      continue;
    const EntryProducts products = getProducts(function, components);
    const EntrySizes sizes(function);
    // A pipeline entry has the same layers as another entry.
    auto kind = function->getAttrOfType<StringAttr>("transom.kind");
    const bool repeats =
        kind && (kind.getValue() == "embed" || kind.getValue() == "rerank");
    if (!repeats)
      report.training.exact +=
          3 *
          evaluate(products, sizes, length, Component::Embedding,
                   Component::Other, true) /
          static_cast<double>(length);
    if (!countLayers(products) || !products.width)
      continue;
    report.entries.push_back(
        getFormulas(function.getSymName(), products, sizes, length));
    if (!repeats)
      report.layers += report.entries.back().layers;
    if (!report.width)
      report.width = products.width;
  }
  report.parameters = getParameterTerm(report, parameters);
  report.training.why =
      "N counts tables and vectors, which multiply nothing; the exact number "
      "has attention, which grows with the length";
  return report;
}

ModelFigures transom::reportFigures(ModuleOp module, const ImportInfo &info) {
  const ModelComponents components(module);
  ModelFigures figures;
  figures.parameters = reportParameters(module, info, components);
  figures.formulas = reportFormulas(module, figures.parameters, components);
  return figures;
}
