// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the page data: explanations without IR, all distinct IR lines, and for
// each module its line runs.
#include "tools/commands/explain/ExplainPage.h"
#include "compiler/explain/ExplanationJson.h"
#include "tools/commands/explain/Findings.h"
#include "tools/commands/explain/PageCode.h"
#include <algorithm>
#include <set>
#include <unordered_map>

using namespace transom;
using namespace transom::tools;

namespace {

/// The modules in all explanations.
class Listings {
public:
  /// Adds the IR after a pass; returns its index in the page, or -1 for a pass
  /// without IR.
  Result<int64_t> add(JsonValue ir);

  /// Writes `lines` and `listings`.
  void write(JsonWriter &json) const;

private:
  struct Stored {
    /// Pairs with the first line and the line count.
    std::vector<int64_t> runs;
    JsonValue ir;
  };

  int64_t getLine(std::string_view line);

  std::unordered_map<std::string, int64_t> indices;
  std::vector<const std::string *> lines;
  std::vector<Stored> listings;
};

} // namespace

/// Copies a JSON value.
static void copy(JsonWriter &json, JsonValue value) {
  // Scalars.
  switch (value.kind()) {
  case JsonValue::Kind::Null:
    return json.null();
  case JsonValue::Kind::Bool:
    return json.value(*value.asBool());
  case JsonValue::Kind::Int64:
    return json.value(*value.asInt());
  case JsonValue::Kind::Uint64:
    return json.value(*value.asUint());
  case JsonValue::Kind::Double:
    return json.value(*value.asDouble());
  case JsonValue::Kind::String:
    return json.value(*value.asString());
  // Arrays and objects, recursively.
  case JsonValue::Kind::Array:
    json.beginArray();
    for (JsonValue item : value.elements())
      copy(json, item);
    return json.endArray();
  case JsonValue::Kind::Object:
    json.beginObject();
    for (auto [key, member] : value.members()) {
      json.key(key);
      copy(json, member);
    }
    return json.endObject();
  }
}

int64_t Listings::getLine(std::string_view line) {
  auto [known, isNew] = indices.try_emplace(std::string(line), lines.size());
  if (isNew)
    lines.push_back(&known->first);
  return known->second;
}

Result<int64_t> Listings::add(JsonValue ir) {
  if (ir.isNull())
    return int64_t(-1);
  TRANSOM_ASSIGN(JsonValue text, ir.get("text"));
  TRANSOM_ASSIGN(std::string_view rest, text.asString());
  std::vector<int64_t> runs;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const int64_t line = getLine(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!runs.empty() && runs[runs.size() - 2] + runs.back() == line)
      ++runs.back();
    else
      runs.insert(runs.end(), {line, 1});
  }
  listings.push_back({std::move(runs), ir});
  return static_cast<int64_t>(listings.size()) - 1;
}

void Listings::write(JsonWriter &json) const {
  json.key("lines");
  json.beginArray();
  for (const std::string *line : lines)
    json.value(*line);
  json.endArray();
  json.key("listings");
  json.beginArray();
  for (const Stored &stored : listings) {
    json.beginObject();
    json.key("lines");
    json.array(stored.runs);
    for (auto [key, member] : stored.ir.members())
      if (key != "text") {
        json.key(key);
        copy(json, member);
      }
    json.endObject();
  }
  json.endArray();
}

/// Copies an explanation, or one of its passes, with null in place of IR.
static Result<void> copyWithoutIr(JsonWriter &json, JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  json.beginObject();
  for (auto [key, member] : value.members()) {
    json.key(key);
    if (key == "ir" || key == "imported_ir" || key == "code") {
      json.null();
    } else if (key == "passes") {
      json.beginArray();
      for (JsonValue pass : member.elements())
        TRANSOM_TRY(copyWithoutIr(json, pass));
      json.endArray();
    } else {
      copy(json, member);
    }
  }
  json.endObject();
  return {};
}

/// Returns the listing indices for an explanation: the imported module, then
/// each pass.
static Result<std::vector<int64_t>> addListings(Listings &listings,
                                                JsonValue explanation) {
  std::vector<int64_t> indices;
  TRANSOM_ASSIGN(JsonValue imported, explanation.get("imported_ir"));
  TRANSOM_ASSIGN(indices.emplace_back(), listings.add(imported));
  TRANSOM_ASSIGN(JsonValue passes, explanation.get("passes"));
  for (JsonValue pass : passes.elements()) {
    TRANSOM_ASSIGN(JsonValue ir, pass.get("ir"));
    TRANSOM_ASSIGN(indices.emplace_back(), listings.add(ir));
  }
  return Result<std::vector<int64_t>>(std::move(indices));
}

/// Returns true for a character that assembly symbols contain.
static bool isSymbolCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
         c == '$' || c == '-';
}

/// Returns the symbol if a line is a function label in the model's code,
/// otherwise an empty string.
static std::string_view getLabel(std::string_view line) {
  if (line.size() > 2 && line.front() == '"')
    line = line.substr(1, line.find('"', 1) - 1);
  else
    line = line.substr(
        0, line.find(':') == std::string_view::npos ? 0 : line.find(':'));
  return line.substr(0, 8) == "transom." &&
                 std::all_of(line.begin(), line.end(), isSymbolCharacter)
             ? line
             : std::string_view();
}

/// Writes the lines in each assembly function, by symbol.
static void writeAssembly(JsonWriter &json, std::string_view text) {
  json.beginObject();
  bool isOpen = false;
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view label = getLabel(line);
    const bool isEnd = line.find(".Lfunc_end") == 0;
    if (isOpen && (isEnd || !label.empty())) {
      json.endArray();
      isOpen = false;
    }
    if (!label.empty() && seen.insert(label).second) {
      json.key(label);
      json.beginArray();
      isOpen = true;
    } else if (isOpen) {
      json.value(line);
    }
  }
  if (isOpen)
    json.endArray();
  json.endObject();
}

/// Writes `profiles` and `assembly`, one item for each compilation.
static Result<void>
writeMeasured(JsonWriter &json,
              const std::vector<ShownCompilation> &compilations) {
  json.key("profiles");
  json.beginArray();
  for (const ShownCompilation &one : compilations) {
    if (one.profile.empty()) {
      json.null();
      continue;
    }
    TRANSOM_ASSIGN(JsonDocument profile, parseJson(one.profile, "profile"));
    copy(json, profile.root());
  }
  json.endArray();
  json.key("assembly");
  json.beginArray();
  for (const ShownCompilation &one : compilations)
    writeAssembly(json, one.assembly);
  json.endArray();
  return {};
}

/// Writes `sources`, and in `findings` the costs that slow each model down.
static Result<void>
writeStory(JsonWriter &json, const std::vector<ShownCompilation> &compilations,
           const std::vector<JsonDocument> &explanations) {
  // Model files by name.
  json.key("sources");
  json.beginArray();
  for (const ShownCompilation &one : compilations) {
    json.beginObject();
    for (const auto &[name, text] : one.sources)
      json.member(name, text);
    json.endObject();
  }
  json.endArray();
  // Findings, computed from the parsed explanations.
  json.key("findings");
  json.beginArray();
  for (const JsonDocument &document : explanations) {
    TRANSOM_ASSIGN(Explanation explanation, parseExplanation(document));
    json.beginArray();
    for (const Finding &finding : findCosts(explanation)) {
      json.beginObject();
      json.member("what", finding.what);
      json.member("why", finding.why);
      json.member("advice", finding.advice);
      json.member("pass", finding.pass);
      json.member("file", finding.place.file);
      json.member("pointer", finding.place.pointer);
      json.endObject();
    }
    json.endArray();
  }
  json.endArray();
  return {};
}

/// Max code size in the page, over all compilations, so that the page for a
/// model with 48 layers takes less than 8 MB.
static constexpr size_t mostCode = size_t(3) << 20;

/// Builds the JSON for the page's script: `explanations`, `lines`, `listings`,
/// the listing indices for each explanation in `ir`, and the code.
static Result<std::string>
makeData(const std::vector<ShownCompilation> &compilations,
         const std::vector<JsonDocument> &explanations) {
  Listings listings;
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  // Explanations, with their IR moved to shared listings.
  json.key("explanations");
  json.beginArray();
  for (const JsonDocument &explanation : explanations)
    TRANSOM_TRY(copyWithoutIr(json, explanation.root()));
  json.endArray();
  json.key("ir");
  json.beginArray();
  for (const JsonDocument &explanation : explanations) {
    TRANSOM_ASSIGN(std::vector<int64_t> indices,
                   addListings(listings, explanation.root()));
    json.array(indices);
  }
  json.endArray();
  // Code at the LLVM level, up to the limit.
  PageCode code(mostCode);
  for (const JsonDocument &explanation : explanations) {
    TRANSOM_ASSIGN(JsonValue modules, explanation.root().get("code"));
    TRANSOM_TRY(code.add(modules));
  }
  code.write(json);
  // Measurements, sources and findings.
  TRANSOM_TRY(writeMeasured(json, compilations));
  TRANSOM_TRY(writeStory(json, compilations, explanations));
  listings.write(json);
  json.endObject();
  return escapeJson(text);
}

/// Returns the title: the model names.
static Result<std::string>
getTitle(const std::vector<JsonDocument> &explanations) {
  std::string title;
  for (const JsonDocument &explanation : explanations) {
    TRANSOM_ASSIGN(JsonValue model, explanation.root().get("model"));
    TRANSOM_ASSIGN(JsonValue name, model.get("name"));
    TRANSOM_ASSIGN(std::string_view text, name.asString());
    title += (title.empty() ? "Compilation of " : " and ") + std::string(text);
  }
  return escapeHtml(title);
}

Result<void>
tools::writeExplainPage(const std::vector<ShownCompilation> &compilations,
                        const ByteSink &sink) {
  std::vector<JsonDocument> explanations;
  for (const ShownCompilation &one : compilations) {
    TRANSOM_ASSIGN(JsonDocument explanation,
                   parseJson(one.explanation, "explanation"));
    explanations.push_back(std::move(explanation));
  }
  TRANSOM_ASSIGN(const std::string title, getTitle(explanations));
  TRANSOM_ASSIGN(const std::string data, makeData(compilations, explanations));
  return fillPage(
      explainPage,
      [&](std::string_view place, const ByteSink &out) {
        return out(place == "data" ? data : title);
      },
      sink);
}
