// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page: a template with style, script, names and matrices in place.
#include "runtime/base/Sha256.h"
#include "runtime/json/Json.h"
#include "tools/commands/attention/AttentionReport.h"
#include "tools/commands/attention/PageFiles.h"
#include "tools/commands/attention/WeightCodec.h"

using namespace transom;
using namespace transom::tools;

/// The hash of a script or style as a Content-Security-Policy names it.
static std::string getPolicyHash(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  const auto digest = hash.digest();
  return encodeBase64(std::string(digest.begin(), digest.end()));
}

/// Text for the content of an element.
static std::string escapeHtml(const std::string &text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '<':
      escaped += "&lt;";
      break;
    case '&':
      escaped += "&amp;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

/// JSON for a script element: no `<`, and neither of the line separators that
/// old scripts do not have in strings.
static std::string escapeJson(const std::string &json) {
  std::string escaped;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i, 3);
    if (json[i] == '<') {
      escaped += "\\u003c";
    } else if (rest == "\xe2\x80\xa8" || rest == "\xe2\x80\xa9") {
      escaped += rest[2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

/// Names, tokens, layers and heads for the page's script.
static std::string makeData(const AttentionReport &report) {
  std::string text;
  JsonWriter json(text);
  json.beginObject();
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
  if (report.alignment) {
    json.key("alignments");
    writeAlignment(json, *report.alignment);
  }
  json.endObject();
  return escapeJson(text);
}

/// Writes an element for each matrix; the script decodes those that it shows.
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
  // Write the template up to each place, then what belongs there.
  std::string_view rest = pageTemplate;
  for (size_t open; (open = rest.find("{{")) != std::string_view::npos;) {
    const size_t close = rest.find("}}", open);
    const std::string_view name = rest.substr(open + 2, close - open - 2);
    TRANSOM_TRY(sink(rest.substr(0, open)));
    rest.remove_prefix(close + 2);
    if (name == "matrices")
      TRANSOM_TRY(writeMatrices(report, sink));
    else if (name == "data")
      TRANSOM_TRY(sink(makeData(report)));
    else if (name == "title")
      TRANSOM_TRY(sink("Attention of " + escapeHtml(report.model)));
    else if (name == "style")
      TRANSOM_TRY(sink(pageStyle));
    else if (name == "script")
      TRANSOM_TRY(sink(pageScript));
    else
      TRANSOM_TRY(
          sink(getPolicyHash(name == "style-hash" ? pageStyle : pageScript)));
  }
  return sink(rest);
}
