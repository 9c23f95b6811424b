// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a report, and writes it as JSON.
#include "tools/commands/attention/AttentionReport.h"
#include "runtime/json/Json.h"

using namespace transom;
using namespace transom::tools;

static Result<void> checkWeights(const AttentionGroup &group) {
  // Softmax sums are 1 up to rounding, so a single weight may exceed 1.
  constexpr float most = 1.001f;
  const size_t size = group.getMatrixSize();
  for (size_t i = 0; i < group.weights.size(); ++i) {
    const float weight = group.weights[i];
    if (weight >= 0 && weight <= most)
      continue;
    const size_t matrix = i / size;
    return rejected(
        "attention '" + group.name + "', layer " +
        std::to_string(group.layers[matrix / group.heads.size()]) + ", head " +
        std::to_string(group.heads[matrix % group.heads.size()]) +
        ": the weight " + std::to_string(weight) + " is not between 0 and 1");
  }
  return {};
}

Result<void> tools::checkReport(const AttentionReport &report) {
  if (report.groups.empty())
    return rejected("there are no attention weights");
  for (const AttentionGroup &group : report.groups) {
    if (group.layers.empty() || group.heads.empty() || !group.getMatrixSize())
      return rejected("attention '" + group.name + "' has no weights");
    const size_t expected =
        group.layers.size() * group.heads.size() * group.getMatrixSize();
    if (group.weights.size() != expected)
      return rejected("attention '" + group.name + "' has " +
                      std::to_string(group.weights.size()) +
                      " weights in place of " + std::to_string(expected));
    TRANSOM_TRY(checkWeights(group));
  }
  return {};
}

/// Appends a row of weights as a JSON array.
static void appendRow(std::string &text, const float *row, size_t count) {
  JsonWriter json(text);
  json.beginArray();
  for (size_t i = 0; i < count; ++i)
    json.value(row[i]);
  json.endArray();
}

/// Writes a group's weights as nested arrays, one matrix at a time, because all
/// of them may take gigabytes.
static Result<void> writeWeights(const AttentionGroup &group,
                                 const ByteSink &sink) {
  const size_t keys = group.keys.size();
  for (size_t layer = 0; layer < group.layers.size(); ++layer) {
    TRANSOM_TRY(sink(layer ? ",[" : "["));
    for (size_t head = 0; head < group.heads.size(); ++head) {
      std::string text = head ? ",[" : "[";
      const float *matrix = group.getMatrix(layer, head);
      for (size_t query = 0; query < group.queries.size(); ++query) {
        if (query)
          text += ',';
        appendRow(text, matrix + query * keys, keys);
      }
      TRANSOM_TRY(sink(text += ']'));
    }
    TRANSOM_TRY(sink("]"));
  }
  return {};
}

void tools::writeAlignment(JsonWriter &json, const Alignment &alignment) {
  json.beginObject();
  json.key("source");
  json.array(alignment.source);
  json.key("target");
  json.array(alignment.target);
  json.key("pairs");
  json.beginArray();
  for (const auto &[source, target] : alignment.pairs)
    json.array(std::vector<uint64_t>{source, target});
  json.endArray();
  json.endObject();
}

Result<void> tools::writeJson(const AttentionReport &report,
                              const ByteSink &sink) {
  // The JSON writer handles all but the weights; insert them before a bracket.
  std::string text = "{\"model\":";
  JsonWriter(text).value(report.model);
  text += ",\"attention\":[";
  for (size_t i = 0; i < report.groups.size(); ++i) {
    const AttentionGroup &group = report.groups[i];
    if (i)
      text += ',';
    JsonWriter json(text);
    json.beginObject();
    json.member("name", group.name);
    json.key("layers");
    json.array(group.layers);
    json.key("heads");
    json.array(group.heads);
    json.key("queries");
    json.array(group.queries);
    json.key("keys");
    json.array(group.keys);
    text += ",\"weights\":[";
    TRANSOM_TRY(sink(text));
    TRANSOM_TRY(writeWeights(group, sink));
    text = "]}";
  }
  text += ']';
  if (report.alignment) {
    text += ",\"alignments\":";
    JsonWriter json(text);
    writeAlignment(json, *report.alignment);
  }
  return sink(text += "}\n");
}
