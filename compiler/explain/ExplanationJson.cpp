// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON format for explanations.
#include "compiler/explain/ExplanationJson.h"
#include "compiler/explain/ExplanationFields.h"
#include "runtime/json/FieldJson.h"

using namespace transom;

std::string transom::toJson(const Explanation &explanation) {
  return writeFields(explanation);
}

/// Fails if an index in an explanation is out of range.
static Result<void> checkIndices(const Explanation &explanation,
                                 JsonValue root) {
  auto isIndex = [](int64_t index, size_t count) {
    return index >= 0 && static_cast<uint64_t>(index) < count;
  };
  for (const ExplainedPass &pass : explanation.passes)
    for (int64_t remark : pass.remarks)
      if (!isIndex(remark, explanation.remarks.size()))
        return root.error("pass '" + pass.pass + "' has remark " +
                          std::to_string(remark) + " of " +
                          std::to_string(explanation.remarks.size()));
  for (const ExplainedEntry &entry : explanation.entries)
    for (int64_t phase : entry.order)
      if (!isIndex(phase, entry.phases.size()))
        return root.error("entry '" + entry.name + "' runs phase " +
                          std::to_string(phase) + " of " +
                          std::to_string(entry.phases.size()));
  return {};
}

/// Formats the paths in one line, truncated to the first ones.
static std::string listPaths(const std::set<std::string> &paths) {
  constexpr size_t most = 6;
  std::string text;
  size_t count = 0;
  for (const std::string &path : paths)
    if (count++ < most)
      text += (text.empty() ? "" : ", ") + path;
  return count > most ? text + " and " + std::to_string(count - most) + " more"
                      : text;
}

/// Describes the differences to an explanation in another format.
static std::string describeFormat(int64_t version,
                                  const fields::FormDifference &difference) {
  std::string text = "this explanation has format " + std::to_string(version) +
                     ", and this transom knows format " +
                     std::to_string(Explanation::currentFormat) +
                     ": what both know is shown";
  if (!difference.missing.empty())
    text += "; it does not have " + listPaths(difference.missing);
  if (!difference.unknown.empty())
    text += "; not known here: " + listPaths(difference.unknown);
  return text;
}

/// Reads an explanation written by another version.
static Result<Explanation> parseOtherFormat(JsonValue root, JsonValue format,
                                            int64_t version) {
  fields::FormDifference difference;
  TRANSOM_ASSIGN(Explanation explanation,
                 readKnownFields<Explanation>(root, difference));
  for (const char *key : {"model", "compile", "passes", "remarks", "entries"})
    if (difference.missing.count(key))
      return format.error("format " + std::to_string(version) +
                          " of explanations is not supported: '" + key +
                          "' is not as in format " +
                          std::to_string(Explanation::currentFormat));
  explanation.format = Explanation::currentFormat;
  explanation.missing = difference.missing;
  explanation.formatNote = describeFormat(version, difference);
  explanation.notes.push_back(explanation.formatNote);
  return Result<Explanation>(std::move(explanation));
}

Result<Explanation> transom::parseExplanation(const JsonDocument &document) {
  const JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_ASSIGN(JsonValue format, root.get("format"));
  TRANSOM_ASSIGN(int64_t version, format.asInt());
  TRANSOM_ASSIGN(Explanation explanation,
                 version == Explanation::currentFormat
                     ? readFields<Explanation>(root)
                     : parseOtherFormat(root, format, version));
  TRANSOM_TRY(checkIndices(explanation, root));
  return Result<Explanation>(std::move(explanation));
}

void transom::keepCommon(Explanation &a, Explanation &b) {
  eraseFields(a, b.missing);
  eraseFields(b, a.missing);
}

std::string transom::getExplanationSchema() {
  return writeFieldSchema<Explanation>("What 'transom explain --json' writes");
}
