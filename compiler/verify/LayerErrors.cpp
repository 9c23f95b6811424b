// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layer errors as text and as JSON.
#include "compiler/verify/LayerErrors.h"
#include "runtime/json/Json.h"
#include <cstdio>

using namespace transom;

/// The first module that differs; null if all are equal.
static const LayerError *
findFirstDifference(const std::vector<LayerError> &layers) {
  for (const LayerError &layer : layers)
    if (layer.differs)
      return &layer;
  return nullptr;
}

/// `first difference: encoder.layer.3: element 17 is 0.25, expected 0.5`.
static std::string describeError(const LayerError &layer) {
  char text[160];
  snprintf(text, sizeof text, "element %lld is %.9g, expected %.9g",
           static_cast<long long>(layer.index), layer.computed, layer.expected);
  return layer.path + ": " + text;
}

std::string LayerErrors::toText() const {
  std::string text = model + " and " + file + ": ";
  if (const LayerError *first = findFirstDifference(layers))
    text += "the first module that differs is " + describeError(*first) + "\n";
  else
    text += std::to_string(layers.size()) + " modules agree\n";
  for (const LayerError &layer : layers) {
    char line[96];
    snprintf(line, sizeof line, "  %-9s  error %.3g of %.3g  ",
             layer.differs ? "differs" : "agrees", layer.error, layer.largest);
    text += line + layer.path + "\n";
  }
  for (const std::string &name : unknown)
    text += "  not compared: " + name + "\n";
  return text;
}

std::string LayerErrors::toJson() const {
  std::string text;
  JsonWriter json(text, 2);
  // The comparison as a whole.
  json.beginObject();
  json.member("model", model);
  json.member("expect", file);
  json.member("tolerance", tolerance);
  json.member("equal", findFirstDifference(layers) == nullptr);
  // One object for each module.
  json.key("modules");
  json.beginArray();
  for (const LayerError &layer : layers) {
    json.beginObject();
    json.member("module", layer.path);
    json.member("differs", layer.differs);
    json.member("error", layer.error);
    json.member("largest", layer.largest);
    json.member("element", layer.index);
    json.member("computed", layer.computed);
    json.member("expected", layer.expected);
    json.endObject();
  }
  json.endArray();
  json.key("not_compared");
  json.array(unknown);
  json.endObject();
  return text + "\n";
}

Result<void> LayerErrors::check() const {
  const LayerError *first = findFirstDifference(layers);
  if (!first)
    return {};
  return Error{Status::CheckFailed,
               model + ": the first module that differs from " + file + " is " +
                   describeError(*first),
               {}};
}
