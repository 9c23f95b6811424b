// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the page: a template with style, script, names and matrices inserted.
#include "runtime/json/Json.h"
#include "tools/commands/PageTemplate.h"
#include "tools/commands/attention/AttentionReport.h"
#include "tools/commands/attention/WeightCodec.h"

using namespace transom;
using namespace transom::tools;

/// Returns names, tokens, layers and heads for the page's script.
static std::string makeData(const AttentionReport &report) {
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  // Groups without weights, which the page stores separately.
  json.member("model", report.model);
  json.key("groups");
  json.beginArray();
  for (const AttentionGroup &group : report.groups) {
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
    json.endObject();
  }
  json.endArray();
  // Word alignment, if any.
  if (report.alignment) {
    json.key("alignments");
    writeAlignment(json, *report.alignment);
  }
  json.endObject();
  return escapeJson(text);
}

/// Writes an element for each matrix; the script decodes visible ones only.
static Result<void> writeMatrices(const AttentionReport &report,
                                  const ByteSink &sink) {
  for (size_t i = 0; i < report.groups.size(); ++i) {
    const AttentionGroup &group = report.groups[i];
    for (size_t layer = 0; layer < group.layers.size(); ++layer)
      for (size_t head = 0; head < group.heads.size(); ++head) {
        const std::string text =
            packWeights(group.getMatrix(layer, head), group.queries.size(),
                        group.keys.size());
        TRANSOM_TRY(sink("<script type=\"text/plain\" id=\"w" +
                         std::to_string(i) + "-" + std::to_string(layer) + "-" +
                         std::to_string(head) + "\">" + text + "</script>\n"));
      }
  }
  return {};
}

Result<void> tools::writePage(const AttentionReport &report,
                              const ByteSink &sink) {
  return fillPage(
      attentionPage,
      [&](std::string_view place, const ByteSink &out) {
        if (place == "matrices")
          return writeMatrices(report, out);
        if (place == "data")
          return out(makeData(report));
        return out("Attention of " + escapeHtml(report.model));
      },
      sink);
}
