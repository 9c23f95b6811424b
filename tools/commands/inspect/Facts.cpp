// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Facts come from the JSON reports, so that models and artifacts use the same
// names. A model's files provide further facts.
#include "tools/commands/inspect/Facts.h"
#include "compiler/safetensors/Safetensors.h"
#include "runtime/base/DType.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "tools/commands/ModelPath.h"
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {

/// Adds facts to a list.
class FactCollector {
public:
  explicit FactCollector(std::vector<Fact> &facts) : facts(facts) {}

  void add(const char *section, const std::string &name, JsonValue value);
  void addText(const char *section, const std::string &name,
               const std::string &text) {
    facts.push_back({section, name, text, {}});
  }
  /// Adds the numbers, strings and lists below a value by path.
  void addTree(const char *section, const std::string &path, JsonValue value);
  void addMember(const char *section, const char *key, JsonValue object) {
    if (auto value = object.find(key))
      addTree(section, key, *value);
  }

  void addModel(JsonValue report);
  void addParameters(JsonValue report);
  void addOperations(JsonValue formulas);
  void addMemory(JsonValue memory);
  void addEntry(JsonValue entry, bool isArtifact);
  void addCompile(JsonValue report);

private:
  std::vector<Fact> &facts;
};

} // namespace

static std::string getString(JsonValue object, const char *key) {
  auto value = object.find(key);
  auto text = value && value->isString()
                  ? value->asString()
                  : Result<std::string_view>(std::string_view());
  return std::string(*text);
}

/// Formats a number, string or list in one line.
static std::string toText(JsonValue value) {
  switch (value.kind()) {
  case JsonValue::Kind::Null:
    return "null";
  case JsonValue::Kind::Bool:
    return *value.asBool() ? "true" : "false";
  case JsonValue::Kind::String:
    return std::string(*value.asString());
  case JsonValue::Kind::Int64:
    return std::to_string(*value.asInt());
  case JsonValue::Kind::Uint64:
  case JsonValue::Kind::Double: {
    std::string text;
    JsonWriter(text).value(value.asDouble() ? *value.asDouble() : 0.0);
    return text;
  }
  case JsonValue::Kind::Array:
  case JsonValue::Kind::Object:
    break;
  }
  std::string text = "[";
  for (JsonValue element : value.elements())
    text += (text.size() > 1 ? ", " : "") + toText(element);
  return text + "]";
}

void FactCollector::add(const char *section, const std::string &name,
                        JsonValue value) {
  std::optional<int64_t> number;
  if (value.kind() == JsonValue::Kind::Int64)
    number = *value.asInt();
  // Operation counts are written as 12.0.
  constexpr double mostExact = 9007199254740992.0; // 2^53
  if (Result<double> real = value.asDouble();
      value.kind() == JsonValue::Kind::Double && real &&
      std::abs(*real) < mostExact && std::trunc(*real) == *real)
    number = static_cast<int64_t>(*real);
  facts.push_back({section, name,
                   number ? std::to_string(*number) : toText(value), number});
}

/// Returns true if a list contains no lists or objects.
static bool isFlat(JsonValue value) {
  for (JsonValue element : value.elements())
    if (element.isArray() || element.isObject())
      return false;
  return value.isArray();
}

void FactCollector::addTree(const char *section, const std::string &path,
                            JsonValue value) {
  if (value.isObject()) {
    for (auto [key, member] : value.members())
      addTree(section, path + "/" + std::string(key), member);
  } else if (value.isArray() && !isFlat(value)) {
    size_t i = 0;
    for (JsonValue element : value.elements())
      addTree(section, path + "/" + std::to_string(i++), element);
  } else {
    add(section, path, value);
  }
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

/// Decoder properties are at the top level in a model's report, and in a
/// separate object in an artifact's report.
void FactCollector::addModel(JsonValue report) {
  for (const char *key : {"family", "architecture", "head", "labels"})
    addMember("model", key, report);
  const JsonValue decoder = report.find("decoder").value_or(report);
  for (const char *key : {"context", "vocabulary"})
    addMember("model", key, decoder);
  for (const char *key : {"tokenizer", "text", "symbols", "dtypes"})
    addMember("model", key, report);
}

void FactCollector::addParameters(JsonValue report) {
  addMember("parameters", "parameters", report);
  auto details = report.find("parameter_report");
  if (!details)
    return;
  if (auto components = details->find("components"))
    for (auto [name, value] : components->members())
      add("parameters", std::string(name), value);
  addMember("parameters", "tied_head", *details);
  std::string stacks;
  if (auto layers = details->find("layers"))
    for (JsonValue layer : layers->elements())
      if (auto first = layer.find("first"), last = layer.find("last");
          first && last)
        stacks += (stacks.empty() ? "" : ", ") + getString(layer, "stack") +
                  " " + toText(*first) + "-" + toText(*last) + ": " +
                  toText(*layer.find("parameters")) + " each";
  addText("parameters", "layers", stacks);
}

void FactCollector::addOperations(JsonValue formulas) {
  auto entries = formulas.find("entries");
  if (!entries)
    return;
  for (JsonValue entry : entries->elements()) {
    const std::string name = getString(entry, "entry");
    for (const char *key : {"layers", "width", "length", "exact_flops"})
      if (auto value = entry.find(key))
        add("operations", name + ": " + key, *value);
    if (auto terms = entry.find("terms"))
      for (JsonValue term : terms->elements())
        if (auto exact = term.find("exact"))
          add("operations", name + ": " + getString(term, "name"), *exact);
  }
}

void FactCollector::addMemory(JsonValue memory) {
  auto rows = memory.find("rows");
  if (!rows)
    return;
  for (JsonValue row : rows->elements()) {
    std::string name;
    for (auto [key, value] : row.members())
      if (key == "batch")
        name = toText(value) + " x ";
      else if (key == "length")
        name += toText(value) + ": ";
      else
        addTree("memory", name + std::string(key), value);
  }
}

/// A model's report has the tensor type in one string, an artifact's report has
/// the element type and sizes.
static std::string getType(JsonValue tensor) {
  if (tensor.find("type"))
    return getString(tensor, "type");
  auto shape = tensor.find("shape");
  return getString(tensor, "dtype") + " " + (shape ? toText(*shape) : "");
}

void FactCollector::addEntry(JsonValue entry, bool isArtifact) {
  // The runtime derives entries, so a model has none.
  const std::string name = getString(entry, "name");
  if (entry.find("derived_from"))
    return addText("derived entries", name, getString(entry, "derived_from"));
  for (const char *key : {"inputs", "outputs"})
    if (auto tensors = entry.find(key))
      for (JsonValue tensor : tensors->elements())
        addText("entries", name + ": " + getString(tensor, "name"),
                getType(tensor));
  if (!isArtifact)
    return;
  for (auto [key, value] : entry.members())
    if (key != "name" && key != "inputs" && key != "outputs" &&
        key != "examples")
      addTree("code", name + ": " + std::string(key), value);
}

void FactCollector::addCompile(JsonValue report) {
  for (const char *key : {"isas", "compiler", "abi", "dtype", "backend",
                          "options", "disabled_passes"})
    addMember("compile", key, report);
  if (auto decoder = report.find("decoder"))
    addMember("caches", "caches", *decoder);
  else
    addMember("caches", "caches", report);
  addMember("weights", "weights_sha256", report);
  if (auto files = report.find("inputs_sha256"))
    for (auto [name, hash] : files->members())
      add("files", std::string(name), hash);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Returns a model's folder, and the file in it that describes the model.
static std::pair<std::string, std::string> split(const std::string &path) {
  if (!isFolder(path)) {
    const std::string file = getFileName(path);
    const std::string folder = path.substr(0, path.size() - file.size());
    return {folder.empty() ? "." : folder, file};
  }
  for (const char *file : {"gliner_config.json", "config.json"})
    if (fileExists(joinPath(path, file)))
      return {path, file};
  return {path, "graph.json"};
}

/// Hashes the tensors in the folder's files.
static Result<void> addWeights(const std::string &folder, JsonValue report,
                               FactCollector &facts) {
  std::vector<std::string> names;
  if (auto files = report.find("files"))
    for (JsonValue file : files->elements())
      if (std::string name = toText(file);
          name.size() > 12 && name.substr(name.size() - 12) == ".safetensors")
        names.push_back(name);
  TRANSOM_ASSIGN(ModelFiles files, ModelFiles::openFiles(folder, names));
  for (const SafetensorsFile &file : files.files())
    for (const SafetensorsTensor &tensor : file.tensors()) {
      std::string text(dtypeName(tensor.dtype));
      text += " [";
      for (size_t i = 0; i < tensor.shape.size(); ++i)
        text += (i ? ", " : "") + std::to_string(tensor.shape[i]);
      facts.addText("weights", tensor.name,
                    text + "] sha256 " + Sha256::getHex(file.data(tensor)));
      files.release(tensor.name);
    }
  return {};
}

Result<ComparedModel> tools::collectFacts(const std::string &path,
                                          bool isArtifact, JsonValue report) {
  ComparedModel model{path, isArtifact, {}};
  FactCollector facts(model.facts);
  facts.addModel(report);
  // For a GGUF file the imported properties are compared, not its metadata.
  if (!isArtifact && !isGgufFile(path)) {
    const auto [folder, file] = split(path);
    TRANSOM_ASSIGN(JsonDocument document,
                   parseJsonFile(joinPath(folder, file)));
    facts.addTree("config", "", document.root());
  }
  facts.addParameters(report);
  if (auto formulas = report.find("formulas"))
    facts.addOperations(*formulas);
  if (auto memory = report.find("memory"))
    facts.addMemory(*memory);
  if (auto entries = report.find("entries"))
    for (JsonValue entry : entries->elements())
      facts.addEntry(entry, isArtifact);
  facts.addCompile(report);
  if (!isArtifact)
    TRANSOM_TRY(addWeights(split(path).first, report, facts));
  return model;
}

Result<void> tools::addFileHashes(ComparedModel &model,
                                  const ComparedModel &artifact) {
  const std::string folder = split(model.path).first;
  for (const Fact &fact : artifact.facts) {
    if (fact.section != "files" || !fileExists(joinPath(folder, fact.name)))
      continue;
    TRANSOM_ASSIGN(MappedFile file,
                   MappedFile::open(joinPath(folder, fact.name)));
    model.facts.push_back(
        {"files", fact.name, Sha256::getHex(file.bytes()), {}});
  }
  return {};
}
