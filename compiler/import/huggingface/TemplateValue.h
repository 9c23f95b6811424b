// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a template of Jinja. A text may have slots, whose bytes are not
// known when the template is run.
#pragma once
#include "compiler/import/huggingface/TemplateSyntax.h"
#include "runtime/json/Json.h"
#include <memory>
#include <optional>

namespace transom::jinja {

/// Bytes, or a slot by its name.
struct TemplateSpan {
  bool isSlot = false;
  std::string text;
};

struct TemplateValue {
  enum class Kind { Undefined, None, Boolean, Integer, Text, List, Map };
  using List = std::vector<TemplateValue>;
  using Map = std::vector<std::pair<std::string, TemplateValue>>;

  Kind kind = Kind::Undefined;
  int64_t number = 0;              ///< of an integer or Boolean
  std::vector<TemplateSpan> spans; ///< of a text
  std::shared_ptr<List> list;
  std::shared_ptr<Map> map; ///< shared by copies, as `namespace` needs it

  static TemplateValue none();
  static TemplateValue boolean(bool value);
  static TemplateValue integer(int64_t value);
  static TemplateValue text(const std::string &value);
  static TemplateValue slot(const std::string &name);
  static TemplateValue ofList(List items);
  static TemplateValue ofMap(Map members);
  /// A number, text, Boolean or null; `Unsupported` for another value.
  static Result<TemplateValue> ofJson(JsonValue value);

  bool is(Kind other) const { return kind == other; }
  /// The bytes of a text without slots.
  std::optional<std::string> getBytes() const;
  /// A member of a map, `Undefined` without it; an error for other values.
  Result<TemplateValue> getMember(const std::string &name) const;
  /// Whether it counts as true; an error for a slot that may be empty.
  Result<bool> isTrue() const;
  /// What it is written as; an error for lists and maps.
  Result<std::vector<TemplateSpan>> write() const;
};

/// Whether two values are equal; an error where slots decide.
Result<bool> areEqual(const TemplateValue &a, const TemplateValue &b);

/// `value` through a filter. `Unsupported` for one that is not known, or that
/// reads what is in a slot.
Result<TemplateValue>
applyFilter(const std::string &name, const TemplateValue &value,
            const std::vector<TemplateValue> &arguments,
            const std::vector<std::pair<std::string, TemplateValue>> &named);

/// Whether `value` passes a test.
Result<bool> applyTest(const std::string &name, const TemplateValue &value,
                       const std::vector<TemplateValue> &arguments);

} // namespace transom::jinja
