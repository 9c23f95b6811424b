// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Labels are strings in most files. Some files have rating numbers, or
// booleans.
#include "compiler/import/huggingface/Labels.h"
#include "runtime/base/Utf8.h"
#include <charconv>
#include <cmath>
#include <map>

using namespace transom;

/// Formats a double as Python's repr() does: the shortest digits, with an
/// exponent below 1e-4 and from 1e16 on.
static std::string getPythonText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  const double size = std::fabs(value);
  const bool isPlain = size == 0 || (size >= 1e-4 && size < 1e16);
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value,
                                 isPlain ? std::chars_format::fixed
                                         : std::chars_format::scientific)
                       .ptr;
  std::string written(text, end);
  if (isPlain && written.find('.') == std::string::npos)
    written += ".0";
  return written;
}

/// Formats a label as Python's str() does.
static Result<std::string> getLabel(JsonValue value) {
  switch (value.kind()) {
  case JsonValue::Kind::Null:
    return std::string("None");
  case JsonValue::Kind::Bool:
    return std::string(*value.asBool() ? "True" : "False");
  case JsonValue::Kind::Int64:
    return std::to_string(*value.asInt());
  case JsonValue::Kind::Uint64:
    return std::to_string(*value.asUint());
  case JsonValue::Kind::Double:
    return getPythonText(*value.asDouble());
  case JsonValue::Kind::String:
    return std::string(*value.asString());
  default:
    return value.typeError("a label: a string, a number or a boolean");
  }
}

/// Parses a key in `id2label` as Python's int() does.
static Result<int64_t> getIndex(JsonValue::Member member) {
  std::string_view digits = member.key;
  while (!digits.empty() && digits.front() == ' ')
    digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ')
    digits.remove_suffix(1);
  if (digits.substr(0, 1) == "+" && digits.substr(1, 1) != "-")
    digits.remove_prefix(1);
  int64_t index = 0;
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (problem != std::errc() || end != digits.data() + digits.size())
    return member.value.error("key '" + utf8::printable(member.key) +
                              "' is not a label number");
  return index;
}

/// Returns the labels by index; the last one for an index is used.
static Result<std::map<int64_t, std::string>> readNames(JsonValue names) {
  TRANSOM_TRY(names.expectObject());
  std::map<int64_t, std::string> labels;
  for (JsonValue::Member member : names.members()) {
    TRANSOM_ASSIGN(const int64_t index, getIndex(member));
    TRANSOM_ASSIGN(labels[index], getLabel(member.value));
  }
  return labels;
}

/// Returns the label for an index: its name, or LABEL_i.
static std::string getName(const std::map<int64_t, std::string> &named,
                           int64_t index) {
  auto found = named.find(index);
  return found == named.end() ? "LABEL_" + std::to_string(index)
                              : found->second;
}

Result<std::vector<std::string>>
transom::readLabels(Config &config, int64_t absent,
                    std::vector<std::string> &notes) {
  config.ignore({"label2id"});
  const std::optional<JsonValue> names = config.find({"id2label"});
  std::map<int64_t, std::string> named;
  if (names) {
    TRANSOM_ASSIGN(named, readNames(*names));
  }

  // A label count that differs from the name count replaces the names.
  const auto size = int64_t(named.size());
  int64_t count = size;
  if (!names || config.find({"num_labels"}))
    count = config.integer({"num_labels"}, absent, 1, 1 << 20, "labels");
  if (names && count != size) {
    named.clear();
    notes.push_back(names->where() + ": " + std::to_string(size) +
                    " names, but 'num_labels' is " + std::to_string(count) +
                    "; labels are 'LABEL_0' to 'LABEL_" +
                    std::to_string(count - 1) + "'");
  }
  if (count == 0)
    return names->error("no labels");
  if (names && count == size)
    config.noteSize("id2label", count, "labels");

  std::vector<std::string> labels;
  for (int64_t i = 0; i < count; ++i)
    labels.push_back(getName(named, i));
  for (int64_t i = 0; i < count; ++i)
    if (!named.empty() && !named.count(i)) {
      notes.push_back(names->where() + ": no key '" + std::to_string(i) +
                      "' among the " + std::to_string(count) +
                      " labels; its label is '" + labels[size_t(i)] + "'");
      break;
    }
  return labels;
}
