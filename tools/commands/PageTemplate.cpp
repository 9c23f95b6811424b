// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills the placeholders in a page.
#include "tools/commands/PageTemplate.h"
#include "runtime/base/Sha256.h"
#include "tools/commands/attention/WeightCodec.h"

using namespace transom;
using namespace transom::tools;

/// Returns the hash of a script or style for a Content-Security-Policy.
static std::string getPolicyHash(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  const auto digest = hash.digest();
  return encodeBase64(std::string(digest.begin(), digest.end()));
}

std::string tools::escapeHtml(std::string_view text) {
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

std::string tools::escapeJson(std::string_view json) {
  std::string escaped;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i, 3);
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

Result<void> tools::fillPage(const PageFiles &files,
                             const PlaceWriter &writePlace,
                             const ByteSink &sink) {
  // Write the template up to each placeholder, then its content.
  std::string_view rest = files.html;
  for (size_t open; (open = rest.find("{{")) != std::string_view::npos;) {
    const size_t close = rest.find("}}", open);
    const std::string_view name = rest.substr(open + 2, close - open - 2);
    TRANSOM_TRY(sink(rest.substr(0, open)));
    rest.remove_prefix(close + 2);
    if (name == "style")
      TRANSOM_TRY(sink(files.style));
    else if (name == "script")
      TRANSOM_TRY(sink(files.script));
    else if (name == "style-hash")
      TRANSOM_TRY(sink(getPolicyHash(files.style)));
    else if (name == "script-hash")
      TRANSOM_TRY(sink(getPolicyHash(files.script)));
    else
      TRANSOM_TRY(writePlace(name, sink));
  }
  return sink(rest);
}
