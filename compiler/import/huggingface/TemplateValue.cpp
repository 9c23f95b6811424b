// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that read a slot's bytes are refused: the template runs before
// they are known.
#include "compiler/import/huggingface/TemplateValue.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

using namespace transom;
using namespace transom::jinja;

TemplateValue TemplateValue::none() {
  TemplateValue value;
  value.kind = Kind::None;
  return value;
}

TemplateValue TemplateValue::boolean(bool number) {
  TemplateValue value = integer(number);
  value.kind = Kind::Boolean;
  return value;
}

TemplateValue TemplateValue::integer(int64_t number) {
  TemplateValue value;
  value.kind = Kind::Integer;
  value.number = number;
  return value;
}

TemplateValue TemplateValue::text(const std::string &bytes) {
  TemplateValue value;
  value.kind = Kind::Text;
  if (!bytes.empty())
    value.spans = {{false, bytes}};
  return value;
}

TemplateValue TemplateValue::slot(const std::string &name) {
  TemplateValue value;
  value.kind = Kind::Text;
  value.spans = {{true, name}};
  return value;
}

TemplateValue TemplateValue::ofList(List items) {
  TemplateValue value;
  value.kind = Kind::List;
  value.list = std::make_shared<List>(std::move(items));
  return value;
}

TemplateValue TemplateValue::ofMap(Map members) {
  TemplateValue value;
  value.kind = Kind::Map;
  value.map = std::make_shared<Map>(std::move(members));
  return value;
}

Result<TemplateValue> TemplateValue::ofJson(JsonValue json) {
  if (json.isNull())
    return none();
  if (json.isBool())
    return boolean(*json.asBool());
  if (json.isString())
    return text(std::string(*json.asString()));
  if (json.isInteger()) {
    TRANSOM_ASSIGN(int64_t number, json.asInt());
    return integer(number);
  }
  return json.error("variables of chat templates are texts, integers, true, "
                    "false or null",
                    Status::Unsupported);
}

std::optional<std::string> TemplateValue::getBytes() const {
  if (!is(Kind::Text))
    return std::nullopt;
  std::string bytes;
  for (const TemplateSpan &span : spans) {
    if (span.isSlot)
      return std::nullopt;
    bytes += span.text;
  }
  return bytes;
}

Result<TemplateValue> TemplateValue::getMember(const std::string &name) const {
  if (is(Kind::Undefined) || is(Kind::None))
    return unsupported("'" + utf8::printable(name) +
                       "' of a value that is not defined");
  if (is(Kind::Map))
    for (const auto &[known, value] : *map)
      if (known == name)
        return value;
  return TemplateValue();
}

Result<bool> TemplateValue::isTrue() const {
  switch (kind) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Boolean:
  case Kind::Integer:
    return number != 0;
  case Kind::List:
    return !list->empty();
  case Kind::Map:
    return !map->empty();
  case Kind::Text:
    break;
  }
  if (spans.empty())
    return false;
  // A prompt exists only if it is not empty.
  for (const TemplateSpan &span : spans)
    if (!span.isSlot || span.text == "prompt")
      return true;
  return unsupported("it asks whether the " + spans.front().text + " is empty");
}

Result<std::vector<TemplateSpan>> TemplateValue::write() const {
  switch (kind) {
  case Kind::Undefined:
    return std::vector<TemplateSpan>();
  case Kind::None:
    return text("None").spans;
  case Kind::Boolean:
    return text(number ? "True" : "False").spans;
  case Kind::Integer:
    return text(std::to_string(number)).spans;
  case Kind::Text:
    return spans;
  case Kind::List:
  case Kind::Map:
    break;
  }
  return unsupported("it writes a list or a map");
}

Result<bool> jinja::areEqual(const TemplateValue &a, const TemplateValue &b) {
  using Kind = TemplateValue::Kind;
  const auto isNumber = [](const TemplateValue &value) {
    return value.is(Kind::Boolean) || value.is(Kind::Integer);
  };
  if (isNumber(a) && isNumber(b))
    return a.number == b.number;
  if (a.kind != b.kind)
    return false;
  if (a.is(Kind::Undefined) || a.is(Kind::None))
    return true;
  if (a.is(Kind::Text) && a.getBytes() && b.getBytes())
    return *a.getBytes() == *b.getBytes();
  return unsupported(a.is(Kind::Text) ? "it compares a query, document or "
                                        "prompt with another text"
                                      : "it compares lists or maps");
}

//===----------------------------------------------------------------------===//
// Filters
//===----------------------------------------------------------------------===//

namespace {

using ValueKind = TemplateValue::Kind;
using Arguments = std::vector<TemplateValue>;

/// One filter application.
struct FilterCall {
  const std::string &name;
  const TemplateValue &value;
  const Arguments &arguments;
  const std::vector<std::pair<std::string, TemplateValue>> &named;

  /// Returns an argument by its position or name; undefined if absent.
  TemplateValue get(size_t place, const char *key) const {
    for (const auto &[known, given] : named)
      if (known == key)
        return given;
    return place < arguments.size() ? arguments[place] : TemplateValue();
  }
  Result<std::string> getText(size_t place, const char *key) const {
    if (auto bytes = get(place, key).getBytes())
      return *bytes;
    return unsupported("the filter '" + name + "' without a text");
  }
  Result<const TemplateValue::List *> getList() const {
    if (value.is(ValueKind::List))
      return &*value.list;
    return unsupported("the filter '" + name +
                       "' of a value that is not a list");
  }
};

constexpr const char *blanks = " \t\n\r\v\f";

} // namespace

/// `selectattr` and `rejectattr`: items whose attribute passes a test.
static Result<TemplateValue> selectItems(const FilterCall &call, bool keeps) {
  TRANSOM_ASSIGN(const TemplateValue::List *items, call.getList());
  TRANSOM_ASSIGN(const std::string attribute, call.getText(0, "attribute"));
  TemplateValue::List found;
  for (const TemplateValue &item : *items) {
    TRANSOM_ASSIGN(TemplateValue member, item.getMember(attribute));
    Result<bool> passes = member.isTrue();
    if (call.arguments.size() > 1) {
      TRANSOM_ASSIGN(const std::string test, call.getText(1, "test"));
      passes = applyTest(
          test, member,
          Arguments(call.arguments.begin() + 2, call.arguments.end()));
    }
    if (!passes)
      return passes.takeError();
    if (*passes == keeps)
      found.push_back(item);
  }
  return TemplateValue::ofList(std::move(found));
}

static Result<TemplateValue> mapItems(const FilterCall &call) {
  TRANSOM_ASSIGN(const TemplateValue::List *items, call.getList());
  if (!call.arguments.empty())
    return unsupported("the filter 'map' of another filter");
  TRANSOM_ASSIGN(const std::string attribute, call.getText(0, "attribute"));
  TemplateValue::List found;
  for (const TemplateValue &item : *items) {
    TRANSOM_ASSIGN(TemplateValue member, item.getMember(attribute));
    found.push_back(std::move(member));
  }
  return TemplateValue::ofList(std::move(found));
}

static Result<TemplateValue> joinItems(const FilterCall &call) {
  TRANSOM_ASSIGN(const TemplateValue::List *items, call.getList());
  TRANSOM_ASSIGN(const std::vector<TemplateSpan> between,
                 call.get(0, "d").write());
  TemplateValue joined = TemplateValue::text("");
  for (size_t i = 0; i != items->size(); ++i) {
    if (i)
      joined.spans.insert(joined.spans.end(), between.begin(), between.end());
    TRANSOM_ASSIGN(std::vector<TemplateSpan> item, (*items)[i].write());
    joined.spans.insert(joined.spans.end(), item.begin(), item.end());
  }
  return joined;
}

/// Filters that change a string's letters.
static Result<TemplateValue> changeText(const FilterCall &call) {
  const std::optional<std::string> bytes = call.value.getBytes();
  if (!bytes)
    return unsupported("the filter '" + call.name +
                       "' of a query, document or prompt");
  std::string text = *bytes;
  if (call.name == "trim" && call.arguments.empty()) {
    text.erase(text.find_last_not_of(blanks) + 1);
    text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
    return TemplateValue::text(text);
  }
  return unsupported("the filter '" + call.name + "' of a text");
}

static Result<TemplateValue> countItems(const FilterCall &call) {
  if (call.value.is(ValueKind::Map))
    return TemplateValue::integer(int64_t(call.value.map->size()));
  TRANSOM_ASSIGN(const TemplateValue::List *items, call.getList());
  return TemplateValue::integer(int64_t(items->size()));
}

static Result<TemplateValue> replaceAbsent(const FilterCall &call) {
  TRANSOM_ASSIGN(const bool ofFalse, call.get(1, "boolean").isTrue());
  bool isAbsent = call.value.is(ValueKind::Undefined);
  if (!isAbsent && ofFalse) {
    TRANSOM_ASSIGN(const bool isTrue, call.value.isTrue());
    isAbsent = !isTrue;
  }
  if (!isAbsent)
    return call.value;
  TemplateValue given = call.get(0, "default_value");
  return given.is(ValueKind::Undefined) ? TemplateValue::text("") : given;
}

Result<TemplateValue> jinja::applyFilter(
    const std::string &name, const TemplateValue &value,
    const std::vector<TemplateValue> &arguments,
    const std::vector<std::pair<std::string, TemplateValue>> &named) {
  const FilterCall call = {name, value, arguments, named};
  if (name == "selectattr" || name == "rejectattr")
    return selectItems(call, name == "selectattr");
  if (name == "map")
    return mapItems(call);
  if (name == "join")
    return joinItems(call);
  if (name == "default" || name == "d")
    return replaceAbsent(call);
  if (name == "length" || name == "count")
    return countItems(call);
  if (name == "trim")
    return changeText(call);
  if (name == "string") {
    TemplateValue text = TemplateValue::text("");
    TRANSOM_ASSIGN(text.spans, value.write());
    return text;
  }
  if (name == "first" || name == "last" || name == "list") {
    TRANSOM_ASSIGN(const TemplateValue::List *items, call.getList());
    if (name == "list")
      return value;
    if (items->empty())
      return TemplateValue();
    return name == "first" ? items->front() : items->back();
  }
  return unsupported("the filter '" + utf8::printable(name) +
                     "'; supported: count, d, default, first, join, last, "
                     "length, list, map, rejectattr, selectattr, string, trim");
}

Result<bool> jinja::applyTest(const std::string &name,
                              const TemplateValue &value,
                              const std::vector<TemplateValue> &arguments) {
  if (name == "defined" || name == "undefined")
    return value.is(ValueKind::Undefined) == (name == "undefined");
  // Type tests.
  if (name == "none")
    return value.is(ValueKind::None);
  if (name == "string")
    return value.is(ValueKind::Text);
  if (name == "mapping")
    return value.is(ValueKind::Map);
  if (name == "sequence" || name == "iterable")
    return value.is(ValueKind::List) || value.is(ValueKind::Text) ||
           value.is(ValueKind::Map);
  if (name == "true" || name == "false")
    return value.is(ValueKind::Boolean) &&
           (value.number != 0) == (name == "true");
  // Comparisons.
  if (!arguments.empty() && (name == "eq" || name == "equalto" || name == "=="))
    return areEqual(value, arguments.front());
  if (!arguments.empty() && (name == "ne" || name == "!=")) {
    TRANSOM_ASSIGN(const bool same, areEqual(value, arguments.front()));
    return !same;
  }
  if (name == "in" && !arguments.empty() && arguments[0].is(ValueKind::List)) {
    for (const TemplateValue &item : *arguments[0].list) {
      TRANSOM_ASSIGN(const bool same, areEqual(value, item));
      if (same)
        return true;
    }
    return false;
  }
  return unsupported("the test '" + utf8::printable(name) +
                     "'; supported: defined, eq, false, in, iterable, mapping, "
                     "ne, none, sequence, string, true, undefined");
}
