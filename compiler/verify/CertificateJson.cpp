// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The certificate as JSON.
#include "compiler/verify/Certificate.h"

using namespace transom;

static void writeTexts(JsonWriter &json, const char *key,
                       const std::vector<std::string> &texts) {
  json.key(key);
  json.array(texts);
}

static void writeLayers(JsonWriter &json, const EqualLayers &run) {
  json.beginObject();
  json.member("entry", run.entry);
  writeTexts(json, "run", run.kept);
  json.member("num_run", run.numKept);
  json.member("num_layers", run.numLayers);
  json.endObject();
}

static void writeWidths(JsonWriter &json, const Certificate &certificate) {
  json.key("widths");
  json.beginArray();
  for (const ShrunkSize &width : certificate.widths) {
    json.beginObject();
    json.member("name", width.name);
    json.member("size", width.size);
    json.member("run", width.run);
    json.endObject();
  }
  json.endArray();
  json.member("full_widths_because", certificate.whyFullWidths);
  json.member("other_structure", certificate.otherStructure);
}

static void writeDifference(JsonWriter &json,
                            const VerifyDifference &difference) {
  json.key("difference");
  json.beginObject();
  json.member("pass", difference.pass);
  json.member("result", difference.result);
  json.member("location", difference.place);
  json.member("operation", difference.operation);
  writeTexts(json, "before", difference.before);
  json.member("after", difference.after);
  json.member("reproducer", difference.reproducer);
  json.member("replay", difference.replay);
  json.endObject();
}

/// The compiled model and its options.
static void writeSubject(JsonWriter &json, const Certificate &certificate) {
  json.member("format", Certificate::format);
  json.member("transom", certificate.transom);
  json.member("model", certificate.model);
  json.member("dtype", certificate.dtype);
  json.member("kv_dtype", certificate.kvDtype);
  json.member("quantize", certificate.quantize);
  json.member("backend", certificate.backend);
  json.key("options");
  json.beginObject();
  for (const auto &[flag, value] : certificate.options)
    json.member(flag, value);
  json.endObject();
  writeTexts(json, "disabled_passes", certificate.disabledPasses);
}

std::string Certificate::toJson(unsigned indent) const {
  std::string text;
  JsonWriter json(text, indent);
  // Subject, verdict, and the part that was run.
  json.beginObject();
  writeSubject(json, *this);
  json.member("verdict", difference ? "different" : "equal");
  json.member("lanes", lanes);
  json.member("key", key);
  json.key("layers");
  json.beginArray();
  for (const EqualLayers &run : layers)
    writeLayers(json, run);
  json.endArray();
  writeWidths(json, *this);
  writeTexts(json, "calls", calls);
  writeTexts(json, "end_calls", endCalls);
  // Passes and stages.
  json.key("passes");
  json.beginArray();
  for (const CertifiedPass &pass : passes) {
    json.beginObject();
    json.member("stage", pass.stage);
    json.member("pass", pass.pass);
    json.member("changed", pass.changed);
    json.endObject();
  }
  json.endArray();
  json.key("stages");
  json.beginArray();
  for (const CertifiedStage &stage : stages) {
    json.beginObject();
    json.member("stage", stage.stage);
    json.member("sha256", stage.sha256);
    json.member("results", stage.results);
    json.endObject();
  }
  json.endArray();
  // Constants, tensors, and the difference.
  writeTexts(json, "equal_constants", equalConstants);
  json.key("tensors");
  json.beginObject();
  for (const auto &[name, shape] : tensors) {
    json.key(name);
    json.array(shape);
  }
  json.endObject();
  if (difference)
    writeDifference(json, *difference);
  writeTexts(json, "shown", getShown());
  writeTexts(json, "not_shown", getNotShown());
  json.endObject();
  return text + (indent ? "\n" : "");
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static Result<void> readText(JsonValue object, const char *key,
                             std::string &out) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_ASSIGN(std::string_view text, value.asString());
  out = text;
  return {};
}

static Result<void> readTexts(JsonValue object, const char *key,
                              std::vector<std::string> &out) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_TRY(value.expectArray());
  for (JsonValue element : value.elements()) {
    TRANSOM_ASSIGN(std::string_view text, element.asString());
    out.emplace_back(text);
  }
  return {};
}

static Result<JsonValue> getArray(JsonValue object, const char *key) {
  TRANSOM_ASSIGN(JsonValue value, object.get(key));
  TRANSOM_TRY(value.expectArray());
  return value;
}

static Result<void> readLayers(JsonValue root, Certificate &certificate) {
  TRANSOM_ASSIGN(JsonValue layers, getArray(root, "layers"));
  for (JsonValue element : layers.elements()) {
    EqualLayers &run = certificate.layers.emplace_back();
    TRANSOM_TRY(readText(element, "entry", run.entry));
    TRANSOM_TRY(readTexts(element, "run", run.kept));
    TRANSOM_ASSIGN(JsonValue kept, element.get("num_run"));
    TRANSOM_ASSIGN(run.numKept, kept.asInt());
    TRANSOM_ASSIGN(JsonValue all, element.get("num_layers"));
    TRANSOM_ASSIGN(run.numLayers, all.asInt());
  }
  return {};
}

/// Certificates from earlier versions have no widths.
static Result<void> readWidths(JsonValue root, Certificate &certificate) {
  if (!root.find("widths"))
    return {};
  TRANSOM_ASSIGN(JsonValue widths, getArray(root, "widths"));
  for (JsonValue element : widths.elements()) {
    ShrunkSize &width = certificate.widths.emplace_back();
    TRANSOM_TRY(readText(element, "name", width.name));
    TRANSOM_ASSIGN(JsonValue size, element.get("size"));
    TRANSOM_ASSIGN(width.size, size.asInt());
    TRANSOM_ASSIGN(JsonValue run, element.get("run"));
    TRANSOM_ASSIGN(width.run, run.asInt());
  }
  TRANSOM_TRY(readText(root, "full_widths_because", certificate.whyFullWidths));
  return readText(root, "other_structure", certificate.otherStructure);
}

static Result<void> readStages(JsonValue root, Certificate &certificate) {
  TRANSOM_ASSIGN(JsonValue passes, getArray(root, "passes"));
  for (JsonValue element : passes.elements()) {
    CertifiedPass &pass = certificate.passes.emplace_back();
    TRANSOM_TRY(readText(element, "stage", pass.stage));
    TRANSOM_TRY(readText(element, "pass", pass.pass));
    TRANSOM_ASSIGN(JsonValue changed, element.get("changed"));
    TRANSOM_ASSIGN(pass.changed, changed.asBool());
  }
  TRANSOM_ASSIGN(JsonValue stages, getArray(root, "stages"));
  for (JsonValue element : stages.elements()) {
    CertifiedStage &stage = certificate.stages.emplace_back();
    TRANSOM_TRY(readText(element, "stage", stage.stage));
    TRANSOM_TRY(readText(element, "sha256", stage.sha256));
    TRANSOM_TRY(readText(element, "results", stage.results));
  }
  return {};
}

static Result<void> readTensors(JsonValue root, Certificate &certificate) {
  TRANSOM_ASSIGN(JsonValue tensors, root.get("tensors"));
  TRANSOM_TRY(tensors.expectObject());
  for (auto [name, value] : tensors.members()) {
    TRANSOM_TRY(value.expectArray());
    std::vector<int64_t> &shape = certificate.tensors[std::string(name)];
    for (JsonValue element : value.elements()) {
      TRANSOM_ASSIGN(int64_t size, element.asInt(0, INT32_MAX));
      shape.push_back(size);
    }
  }
  return {};
}

Result<Certificate> transom::parseCertificate(const JsonDocument &document) {
  // The format comes first.
  JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_ASSIGN(JsonValue format, root.get("format"));
  TRANSOM_ASSIGN(int64_t number, format.asInt());
  if (number != Certificate::format)
    return format.error("format " + std::to_string(number) +
                        "; supported: " + std::to_string(Certificate::format));
  // Plain members.
  Certificate certificate;
  for (auto [key, text] : {std::pair("transom", &certificate.transom),
                           std::pair("model", &certificate.model),
                           std::pair("dtype", &certificate.dtype),
                           std::pair("kv_dtype", &certificate.kvDtype),
                           std::pair("quantize", &certificate.quantize),
                           std::pair("backend", &certificate.backend),
                           std::pair("key", &certificate.key)})
    TRANSOM_TRY(readText(root, key, *text));
  TRANSOM_ASSIGN(JsonValue lanes, root.get("lanes"));
  TRANSOM_ASSIGN(int64_t numLanes, lanes.asInt(1, 2));
  certificate.lanes = static_cast<unsigned>(numLanes);
  TRANSOM_TRY(readTexts(root, "calls", certificate.calls));
  TRANSOM_TRY(readTexts(root, "end_calls", certificate.endCalls));
  TRANSOM_TRY(readTexts(root, "equal_constants", certificate.equalConstants));
  TRANSOM_TRY(readTexts(root, "disabled_passes", certificate.disabledPasses));
  // Nested members.
  TRANSOM_TRY(readLayers(root, certificate));
  TRANSOM_TRY(readWidths(root, certificate));
  TRANSOM_TRY(readStages(root, certificate));
  TRANSOM_TRY(readTensors(root, certificate));
  return Result<Certificate>(std::move(certificate));
}
