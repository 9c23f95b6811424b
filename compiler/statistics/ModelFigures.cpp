// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats statistics as text and JSON, and reads the JSON.
#include "compiler/statistics/ModelFigures.h"
#include <cinttypes>
#include <cstdarg>

using namespace transom;

uint64_t transom::countParameters(const ComponentParameters &components) {
  uint64_t sum = 0;
  for (const auto &[name, count] : components)
    sum += count;
  return sum;
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

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Appends counts and short names; longer strings are appended directly.
__attribute__((format(printf, 2, 3))) static void
addFormat(std::string &text, const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  text += line;
}

/// `embedding 1234, norm 64`.
static std::string listComponents(const ComponentParameters &components) {
  std::string text;
  for (const auto &[name, count] : components)
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return text;
}

void ParameterReport::addText(std::string &text) const {
  const auto all = static_cast<double>(countParameters(components));
  text += "\nparameters by component\n";
  for (const auto &[name, count] : components)
    addFormat(text, "  %-16s %14" PRIu64 "  %5.1f %%\n", name.c_str(), count,
              100.0 * static_cast<double>(count) / all);
  if (tiedHead)
    text += "  the head shares its matrix with the embedding\n";
  text += "\nparameters by layer\n";
  for (const LayerParameters &layer : layers) {
    std::string name = "outside of layers";
    if (!layer.stack.empty()) {
      name = layer.stack + " " + std::to_string(layer.first);
      if (layer.last > layer.first)
        name += "-" + std::to_string(layer.last) + ", each";
    }
    text += "  " + name + ": " +
            std::to_string(countParameters(layer.components)) + " (" +
            listComponents(layer.components) + ")\n";
  }
}

static void addTerm(std::string &text, const FormulaTerm &term, double scale) {
  addFormat(text, "  %-22s %-13s %16.6g %16.6g", term.name.c_str(),
            term.formula.empty() ? "-" : term.formula.c_str(),
            term.textbook * scale, term.exact * scale);
  if (term.textbook > 0)
    addFormat(text, "  x %.3f", term.exact / term.textbook);
  text += "\n";
  if (!term.why.empty())
    text += "    " + term.why + "\n";
}

void FormulaReport::addText(std::string &text) const {
  if (entries.empty())
    return;
  addFormat(text, "\nformulas for %" PRId64 " layers of width %" PRId64 "\n",
            layers, width);
  // Totals for the whole model.
  text += "  term                   formula               textbook            "
          "exact\n";
  addTerm(text, parameters, 1);
  addTerm(text, training, 1);
  addFormat(text,
            "    (operations for each token, in sequences of %" PRId64
            " tokens)\n",
            entries.front().length);
  // One table per entry.
  for (const EntryFormulas &entry : entries) {
    text += "\nGFLOP of entry " + entry.entry;
    addFormat(text,
              " for one sequence of %" PRId64 " tokens, %" PRId64
              " layers of width %" PRId64 "\n",
              entry.length, entry.layers, entry.width);
    for (const FormulaTerm &term : entry.terms)
      addTerm(text, term, 1e-9);
    addTerm(text, {"all", "", entry.getTextbook(), entry.getExact(), ""}, 1e-9);
    const auto length = static_cast<double>(entry.length);
    addTerm(text,
            {"per token", "", entry.getTextbook() / length,
             entry.getExact() / length, ""},
            1e-9);
  }
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static void writeComponents(JsonWriter &json,
                            const ComponentParameters &components) {
  json.key("components");
  json.beginObject();
  for (const auto &[name, count] : components)
    json.member(name, count);
  json.endObject();
}

static void writeParameters(JsonWriter &json, const ParameterReport &report) {
  json.key("parameter_report");
  json.beginObject();
  json.member("tied_head", report.tiedHead);
  writeComponents(json, report.components);
  json.key("layers");
  json.beginArray();
  for (const LayerParameters &layer : report.layers) {
    json.beginObject();
    json.key("stack");
    if (layer.stack.empty()) {
      json.null();
    } else {
      json.value(layer.stack);
      json.member("first", layer.first);
      json.member("last", layer.last);
    }
    json.member("parameters", countParameters(layer.components));
    writeComponents(json, layer.components);
    json.endObject();
  }
  json.endArray();
  json.endObject();
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

static void writeEntry(JsonWriter &json, const EntryFormulas &entry) {
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

void ModelFigures::writeJson(JsonWriter &json) const {
  writeParameters(json, parameters);
  if (formulas.entries.empty())
    return;
  json.key("formulas");
  json.beginObject();
  json.member("layers", formulas.layers);
  json.member("width", formulas.width);
  json.key("parameters");
  writeTerm(json, formulas.parameters);
  json.key("training_flops_per_token");
  writeTerm(json, formulas.training);
  json.key("entries");
  json.beginArray();
  for (const EntryFormulas &entry : formulas.entries)
    writeEntry(json, entry);
  json.endArray();
  json.endObject();
}

std::string ModelFigures::toJson() const {
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  writeJson(json);
  json.endObject();
  return text;
}

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

static Result<std::string> readString(JsonValue object, const char *key) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_ASSIGN(std::string_view text, value.asString());
  return std::string(text);
}

static Result<int64_t> readCount(JsonValue object, const char *key) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_ASSIGN(int64_t count, value.asInt());
  if (count < 0)
    return value.error("expected a number that is not negative, got " +
                       std::to_string(count));
  return count;
}

static Result<ComponentParameters> readComponents(JsonValue object) {
  TRANSOM_ASSIGN(JsonValue members, object.get("components"));
  TRANSOM_TRY(members.expectObject());
  ComponentParameters components;
  for (auto [name, value] : members.members()) {
    TRANSOM_ASSIGN(int64_t count, value.asInt());
    if (count <= 0)
      return value.error("expected a positive number");
    components.emplace_back(name, static_cast<uint64_t>(count));
  }
  return components;
}

static Result<LayerParameters> readLayer(JsonValue object) {
  LayerParameters layer;
  TRANSOM_ASSIGN(JsonValue stack, object.get("stack"));
  if (!stack.isNull()) {
    TRANSOM_ASSIGN(layer.stack, readString(object, "stack"));
    TRANSOM_ASSIGN(layer.first, readCount(object, "first"));
    TRANSOM_ASSIGN(layer.last, readCount(object, "last"));
  }
  TRANSOM_ASSIGN(layer.components, readComponents(object));
  return layer;
}

static Result<ParameterReport> readParameters(JsonValue object) {
  ParameterReport report;
  TRANSOM_ASSIGN(JsonValue tied, object.get("tied_head"));
  TRANSOM_ASSIGN(report.tiedHead, tied.asBool());
  TRANSOM_ASSIGN(report.components, readComponents(object));
  TRANSOM_ASSIGN(JsonValue layers, object.get("layers"));
  TRANSOM_TRY(layers.expectArray());
  for (JsonValue value : layers.elements()) {
    TRANSOM_ASSIGN(LayerParameters layer, readLayer(value));
    report.layers.push_back(std::move(layer));
  }
  return report;
}

static Result<FormulaTerm> readTerm(JsonValue object) {
  FormulaTerm term;
  TRANSOM_ASSIGN(term.name, readString(object, "name"));
  TRANSOM_ASSIGN(JsonValue formula, object.get("formula"));
  if (!formula.isNull()) {
    TRANSOM_ASSIGN(term.formula, readString(object, "formula"));
  }
  TRANSOM_ASSIGN(JsonValue textbook, object.get("textbook"));
  TRANSOM_ASSIGN(term.textbook, textbook.asDouble());
  TRANSOM_ASSIGN(JsonValue exact, object.get("exact"));
  TRANSOM_ASSIGN(term.exact, exact.asDouble());
  if (object.find("why")) {
    TRANSOM_ASSIGN(term.why, readString(object, "why"));
  }
  return term;
}

static Result<EntryFormulas> readEntry(JsonValue object) {
  EntryFormulas entry;
  TRANSOM_ASSIGN(entry.entry, readString(object, "entry"));
  TRANSOM_ASSIGN(entry.layers, readCount(object, "layers"));
  TRANSOM_ASSIGN(entry.width, readCount(object, "width"));
  TRANSOM_ASSIGN(entry.length, readCount(object, "length"));
  if (entry.length == 0)
    return object.error("a sequence without tokens");
  TRANSOM_ASSIGN(JsonValue terms, object.get("terms"));
  TRANSOM_TRY(terms.expectArray());
  for (JsonValue value : terms.elements()) {
    TRANSOM_ASSIGN(FormulaTerm term, readTerm(value));
    entry.terms.push_back(std::move(term));
  }
  return entry;
}

static Result<FormulaReport> readFormulas(JsonValue object) {
  FormulaReport report;
  TRANSOM_ASSIGN(report.layers, readCount(object, "layers"));
  TRANSOM_ASSIGN(report.width, readCount(object, "width"));
  TRANSOM_ASSIGN(JsonValue parameters, object.get("parameters"));
  TRANSOM_ASSIGN(report.parameters, readTerm(parameters));
  TRANSOM_ASSIGN(JsonValue training, object.get("training_flops_per_token"));
  TRANSOM_ASSIGN(report.training, readTerm(training));
  TRANSOM_ASSIGN(JsonValue entries, object.get("entries"));
  TRANSOM_TRY(entries.expectArray());
  for (JsonValue value : entries.elements()) {
    TRANSOM_ASSIGN(EntryFormulas entry, readEntry(value));
    report.entries.push_back(std::move(entry));
  }
  return report;
}

Result<ModelFigures> ModelFigures::parse(std::string_view text,
                                         const std::string &fileName) {
  TRANSOM_ASSIGN(JsonDocument document, parseJson(text, fileName));
  ModelFigures figures;
  TRANSOM_ASSIGN(JsonValue parameters, document.root().get("parameter_report"));
  TRANSOM_ASSIGN(figures.parameters, readParameters(parameters));
  if (std::optional<JsonValue> formulas = document.root().find("formulas")) {
    TRANSOM_ASSIGN(figures.formulas, readFormulas(*formulas));
  }
  return figures;
}
