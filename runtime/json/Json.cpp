// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON document values: their locations, and getters with errors.
#include "runtime/json/Json.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonStorage.h"
#include <algorithm>

namespace transom {
using detail::JsonNode;
using detail::JsonStorage;

namespace detail {

static size_t lineIndex(const JsonStorage &storage, uint32_t offset) {
  auto next =
      std::upper_bound(storage.lines.begin(), storage.lines.end(), offset);
  return next - storage.lines.begin() - 1;
}

std::string lineAndColumn(const JsonStorage &storage, uint32_t offset) {
  size_t line = lineIndex(storage, offset);
  return std::to_string(line + 1) + ":" +
         std::to_string(offset - storage.lines[line] + 1);
}

std::string pointerToken(std::string_view key) {
  std::string token = "/";
  for (char c : key) {
    if (c == '~')
      token += "~0";
    else if (c == '/')
      token += "~1";
    else
      token += c;
  }
  return token;
}

std::string getPointer(const JsonStorage &storage, uint32_t index) {
  std::vector<std::string> tokens;
  while (storage.nodes[index].parent != noParent) {
    const JsonNode &node = storage.nodes[index];
    bool inObject = storage.nodes[node.parent].kind == JsonValue::Kind::Object;
    tokens.push_back(inObject ? pointerToken(storage.text(node.key))
                              : "/" + std::to_string(node.key));
    index = node.parent;
  }
  std::string pointer;
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token)
    pointer += *token;
  return pointer;
}

std::string placeText(const JsonStorage &storage, uint32_t offset,
                      const std::string &pointer) {
  if (!storage.origins.empty()) {
    // Find the nearest enclosing value that came from the other file.
    std::string around = pointer;
    auto found = storage.origins.find(around);
    while (found == storage.origins.end() && !around.empty()) {
      around.resize(around.rfind('/'));
      found = storage.origins.find(around);
    }
    return storage.fileName +
           (found == storage.origins.end() ? "" : ": '" + found->second + "'");
  }
  std::string text = storage.fileName + ":" + lineAndColumn(storage, offset);
  if (!pointer.empty())
    text += ": '" + utf8::printable(pointer) + "'";
  return text;
}

} // namespace detail

JsonValue::Kind JsonValue::kind() const { return storage->nodes[index].kind; }

uint32_t JsonValue::line() const {
  return static_cast<uint32_t>(
      detail::lineIndex(*storage, storage->nodes[index].offset) + 1);
}

uint32_t JsonValue::column() const {
  uint32_t offset = storage->nodes[index].offset;
  return offset - storage->lines[detail::lineIndex(*storage, offset)] + 1;
}

std::string JsonValue::pointer() const {
  return detail::getPointer(*storage, index);
}

std::string JsonValue::where() const {
  return detail::placeText(*storage, storage->nodes[index].offset, pointer());
}

Error JsonValue::error(const std::string &text, Status status) const {
  return {status, where() + ": " + text, {}};
}

Error JsonValue::typeError(const std::string &expected) const {
  return error("expected " + expected + ", got " + kindText());
}

std::string JsonValue::kindText() const {
  switch (kind()) {
  case Kind::Null:
    return "null";
  case Kind::Bool:
    return "a boolean";
  case Kind::Int64:
  case Kind::Uint64:
    return "an integer";
  case Kind::Double:
    return "a number";
  case Kind::String:
    return "a string";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  return "";
}

Result<bool> JsonValue::asBool() const {
  if (!isBool())
    return typeError("a boolean");
  return storage->nodes[index].boolean;
}

Result<int64_t> JsonValue::asInt() const {
  if (kind() == Kind::Uint64)
    return error("integer " + std::to_string(storage->nodes[index].natural) +
                 " is over the limit of " + std::to_string(INT64_MAX));
  if (storage->nodes[index].isLargeInteger)
    return error("the integer does not fit 64 bits");
  if (!isInteger())
    return typeError("an integer");
  return storage->nodes[index].integer;
}

Result<int64_t> JsonValue::asInt(int64_t low, int64_t high) const {
  Result<int64_t> value = asInt();
  if (value && (*value < low || *value > high))
    return error("expected an integer from " + std::to_string(low) + " to " +
                 std::to_string(high) + ", got " + std::to_string(*value));
  return value;
}

Result<uint64_t> JsonValue::asUint() const {
  if (kind() == Kind::Uint64)
    return storage->nodes[index].natural;
  if (storage->nodes[index].isLargeInteger)
    return error("the integer does not fit 64 bits");
  if (!isInteger())
    return typeError("an integer");
  int64_t value = storage->nodes[index].integer;
  if (value < 0)
    return error("expected a non-negative integer, got " +
                 std::to_string(value));
  return static_cast<uint64_t>(value);
}

Result<double> JsonValue::asDouble() const {
  const JsonNode &node = storage->nodes[index];
  switch (node.kind) {
  case Kind::Int64:
    return static_cast<double>(node.integer);
  case Kind::Uint64:
    return static_cast<double>(node.natural);
  case Kind::Double:
    return node.real;
  default:
    return typeError("a number");
  }
}

Result<std::string_view> JsonValue::asString() const {
  if (!isString())
    return typeError("a string");
  return storage->text(storage->nodes[index].text);
}

size_t JsonValue::size() const {
  return isArray() || isObject() ? storage->nodes[index].list.count : 0;
}

JsonValue JsonValue::operator[](size_t i) const {
  assert(i < size() && "no such element");
  return {storage, storage->children[storage->nodes[index].list.first + i]};
}

std::string_view JsonValue::key() const {
  const JsonNode &node = storage->nodes[index];
  if (node.parent == detail::noParent ||
      storage->nodes[node.parent].kind != Kind::Object)
    return {};
  return storage->text(node.key);
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!isObject())
    return std::nullopt;
  const JsonNode &node = storage->nodes[index];
  auto begin = storage->sorted.begin() + node.list.first;
  auto end = begin + node.list.count;
  auto getKey = [&](uint32_t child) {
    return storage->text(storage->nodes[child].key);
  };
  auto found = std::lower_bound(
      begin, end, key,
      [&](uint32_t child, std::string_view k) { return getKey(child) < k; });
  if (found == end || getKey(*found) != key)
    return std::nullopt;
  return JsonValue(storage, *found);
}

Result<JsonValue> JsonValue::get(std::string_view key) const {
  TRANSOM_TRY(expectObject());
  if (std::optional<JsonValue> member = find(key))
    return *member;
  return error("missing key '" + utf8::printable(key) + "'");
}

Result<void> JsonValue::expectArray() const {
  if (!isArray())
    return typeError("an array");
  return {};
}

Result<void> JsonValue::expectObject() const {
  if (!isObject())
    return typeError("an object");
  return {};
}

Result<std::vector<int64_t>> JsonValue::asIntArray(int64_t low,
                                                   int64_t high) const {
  if (!isArray())
    return typeError("an array of integers");
  std::vector<int64_t> values;
  for (JsonValue element : elements()) {
    TRANSOM_ASSIGN(int64_t value, element.asInt(low, high));
    values.push_back(value);
  }
  return values;
}

Result<std::vector<std::string>> JsonValue::asStringArray() const {
  if (!isArray())
    return typeError("an array of strings");
  std::vector<std::string> values;
  for (JsonValue element : elements()) {
    TRANSOM_ASSIGN(std::string_view value, element.asString());
    values.emplace_back(value);
  }
  return values;
}

Result<void>
JsonValue::expectOnlyKeys(const std::vector<std::string> &known) const {
  if (Result<void> isList = expectObject(); !isList)
    return isList;
  for (Member member : members())
    if (std::find(known.begin(), known.end(), member.key) == known.end())
      return error("unknown key '" + utf8::printable(member.key) + "'" +
                   suggest(member.key, known));
  return {};
}

JsonDocument::JsonDocument(std::shared_ptr<const JsonStorage> storage)
    : storage(std::move(storage)) {}

JsonValue JsonDocument::root() const { return {storage.get(), 0}; }

const std::string &JsonDocument::fileName() const { return storage->fileName; }

JsonDocument JsonDocument::withOrigins(
    const std::map<std::string, std::string> &origins) const {
  auto copy = std::make_shared<JsonStorage>(*storage);
  copy->origins = origins;
  return JsonDocument(std::move(copy));
}

} // namespace transom
