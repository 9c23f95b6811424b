// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each term of the formulas belongs to some components; their operations say
// why the exact number differs.
#include "compiler/inspect/ModelFormulas.h"
#include "compiler/inspect/EntrySizes.h"
#include "compiler/inspect/InspectModelCost.h"
#include "dialects/common/Location.h"
#include "llvm/Support/Format.h"
#include <set>

using namespace mlir;
using namespace transom;

/// The length that entries are shown at, where the model allows it.
static constexpr int64_t exampleLength = 512;

namespace {

/// The products of an entry by component.
struct EntryProducts {
  std::array<Polynomial, numComponents> flops;
  /// Different products: `64 x 160`, and how many there are.
  std::array<std::map<std::string, int64_t>, numComponents> shapes;
  std::set<LayerId> layers;
  int64_t width = 0, attentions = 0;
  bool isCausal = false, isWindowed = false, hasCross = false;
};

} // namespace

/// The columns of the input and of the result of a product with a matrix.
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
  }
  products.hasCross |= isa<attn::CrossSdpaOp>(op);
  // Spelt out, an attention has two products.
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

/// `2 of 64 x 160, 1 of 160 x 64` of the components from first to last.
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

/// Why the scores differ from those of the textbook.
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
  if (why.empty())
    add("the heads together are not d wide");
  return why;
}

/// The terms of an entry; the reason stays empty where both numbers agree.
static EntryFormulas getFormulas(StringRef name, const EntryProducts &products,
                                 const EntrySizes &sizes, int64_t length) {
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
  add("attention_projections", "8*l*b*s*d^2", 8 * l * s * d * d,
      Component::Query, Component::Output,
      "the textbook has 4 of d x d a layer; this entry has " +
          listShapes(products, Component::Query, Component::Output));
  add("attention", "4*l*b*s^2*d", 4 * l * s * s * d, Component::Attention,
      Component::Attention, explainAttention(products));
  add("mlp", "16*l*b*s*d^2", 16 * l * s * d * d, Component::Mlp, Component::Mlp,
      "the textbook has d x 4d and 4d x d a layer; this entry has " +
          listShapes(products, Component::Mlp, Component::Mlp));
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

double EntryFormulas::getTextbook() const {
  double sum = 0;
  for (const FormulaTerm &term : terms)
    sum += term.textbook;
  return sum;
}

double EntryFormulas::getExact() const {
  double sum = 0;
  for (const FormulaTerm &term : terms)
    sum += term.exact;
  return sum;
}

/// 12 l d^2 beside the matrices of the layers.
static FormulaTerm getParameterTerm(const FormulaReport &report,
                                    const ParameterReport &parameters) {
  FormulaTerm term{"parameters", "12*l*d^2", 0, 0, ""};
  term.textbook =
      12.0 * static_cast<double>(report.layers * report.width * report.width);
  for (auto i = static_cast<size_t>(Component::Query);
       i <= static_cast<size_t>(Component::Mlp); ++i)
    term.exact += static_cast<double>(parameters.counts[i]);
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
  uint64_t all = 0;
  for (uint64_t count : parameters.counts)
    all += count;
  report.training = {"training", "6*N*D", 6.0 * static_cast<double>(all), 0,
                     ""};
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isDeclaration())
      continue;
    const EntryProducts products = getProducts(function, components);
    const EntrySizes sizes(function);
    report.training.exact +=
        3 *
        evaluate(products, sizes, length, Component::Embedding,
                 Component::Other, true) /
        static_cast<double>(length);
    if (!countLayers(products) || !products.width)
      continue;
    report.entries.push_back(
        getFormulas(function.getSymName(), products, sizes, length));
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

//===----------------------------------------------------------------------===//
// Text and JSON
//===----------------------------------------------------------------------===//

static void addTerm(llvm::raw_ostream &out, const FormulaTerm &term,
                    double scale) {
  out << llvm::format("  %-22s %-13s %16.6g %16.6g", term.name.c_str(),
                      term.formula.empty() ? "-" : term.formula.c_str(),
                      term.textbook * scale, term.exact * scale);
  if (term.textbook > 0)
    out << llvm::format("  x %.3f", term.exact / term.textbook);
  out << "\n";
  if (!term.why.empty())
    out << "    " << term.why << "\n";
}

void FormulaReport::addText(llvm::raw_ostream &out) const {
  if (entries.empty())
    return;
  out << "\nformulas for " << layers << " layers of width " << width << "\n"
      << "  term                   formula               textbook            "
         "exact\n";
  addTerm(out, parameters, 1);
  addTerm(out, training, 1);
  out << "    (operations for each token, in sequences of "
      << entries.front().length << " tokens)\n";
  for (const EntryFormulas &entry : entries) {
    out << "\nGFLOP of entry " << entry.entry << " for one sequence of "
        << entry.length << " tokens, " << entry.layers << " layers of width "
        << entry.width << "\n";
    for (const FormulaTerm &term : entry.terms)
      addTerm(out, term, 1e-9);
    addTerm(out,
            {"all", "", entry.getTextbook(), entry.getExact(), std::string()},
            1e-9);
    const auto length = static_cast<double>(entry.length);
    addTerm(out,
            {"per token", "", entry.getTextbook() / length,
             entry.getExact() / length, std::string()},
            1e-9);
  }
}

static void writeTerm(JsonWriter &json, const FormulaTerm &term) {
  json.beginObject();
  json.member("name", term.name);
  json.key("formula");
  if (term.formula.empty())
    json.null();
  else
    json.value(term.formula);
  json.member("textbook", term.textbook);
  json.member("exact", term.exact);
  if (!term.why.empty())
    json.member("why", term.why);
  json.endObject();
}

void FormulaReport::writeJson(JsonWriter &json) const {
  if (entries.empty())
    return;
  json.key("formulas");
  json.beginObject();
  json.member("layers", layers);
  json.member("width", width);
  json.key("parameters");
  writeTerm(json, parameters);
  json.key("training_flops_per_token");
  writeTerm(json, training);
  json.key("entries");
  json.beginArray();
  for (const EntryFormulas &entry : entries) {
    json.beginObject();
    json.member("entry", entry.entry);
    json.member("layers", entry.layers);
    json.member("width", entry.width);
    json.member("length", entry.length);
    json.key("terms");
    json.beginArray();
    for (const FormulaTerm &term : entry.terms)
      writeTerm(json, term);
    json.endArray();
    json.member("textbook_flops", entry.getTextbook());
    json.member("exact_flops", entry.getExact());
    json.member("exact_flops_per_token",
                entry.getExact() / static_cast<double>(entry.length));
    json.endObject();
  }
  json.endArray();
  json.endObject();
}
