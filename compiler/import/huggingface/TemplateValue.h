// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Jinja template values. A string may contain slots, whose bytes are unknown
// when the template runs.
#pragma once
#include "compiler/import/huggingface/TemplateSyntax.h"
#include "runtime/json/Json.h"
#include <memory>
#include <optional>

namespace transom::jinja {

/// Bytes, or a slot with its name.
struct TemplateSpan {
  bool isSlot = false;
  std::string text;
};

struct TemplateValue {
  enum class Kind { Undefined, None, Boolean, Integer, Text, List, Map };
  using List = std::vector<TemplateValue>;
  using Map = std::vector<std::pair<std::string, TemplateValue>>;

  Kind kind = Kind::Undefined;
  int64_t number = 0;              ///< for an integer or Boolean
  std::vector<TemplateSpan> spans; ///< for a string
  std::shared_ptr<List> list;
  std::shared_ptr<Map> map; ///< shared by copies, as `namespace` requires

  static TemplateValue none();
  static TemplateValue boolean(bool value);
  static TemplateValue integer(int64_t value);
  static TemplateValue text(const std::string &value);
  static TemplateValue slot(const std::string &name);
  static TemplateValue ofList(List items);
  static TemplateValue ofMap(Map members);
  /// Converts a number, string, Boolean or null; `Unsupported` for other
  /// values.
  static Result<TemplateValue> ofJson(JsonValue value);

  bool is(Kind other) const { return kind == other; }
  /// Returns the bytes of a string without slots.
  std::optional<std::string> getBytes() const;
  /// Returns a map member, `Undefined` if absent; an error for other values.
  Result<TemplateValue> getMember(const std::string &name) const;
  /// Returns its truth value; an error for a slot that may be empty.
  Result<bool> isTrue() const;
  /// Returns its string form; an error for lists and maps.
  Result<std::vector<TemplateSpan>> write() const;
};

/// Returns whether two values are equal; an error if slots decide it.
Result<bool> areEqual(const TemplateValue &a, const TemplateValue &b);

/// Applies a filter to `value`. `Unsupported` for an unknown filter, or one
/// that reads slot contents.
Result<TemplateValue>
applyFilter(const std::string &name, const TemplateValue &value,
            const std::vector<TemplateValue> &arguments,
            const std::vector<std::pair<std::string, TemplateValue>> &named);

/// Whether `value` passes a test.
Result<bool> applyTest(const std::string &name, const TemplateValue &value,
                       const std::vector<TemplateValue> &arguments);

} // namespace transom::jinja
