// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checker for the JSON schema keywords (draft 2020-12) in the graph.json
// schema. An unknown keyword is an error.
#pragma once
#include "runtime/json/Json.h"
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace transom::testing {

class SchemaChecker {
public:
  explicit SchemaChecker(const std::string &schema) : document(parse(schema)) {}

  /// Returns the first error, `/nodes/0/op: enum`; empty for a valid document.
  std::string check(const std::string &text) const {
    JsonDocument value = parse(text);
    return check(value.root(), document.root());
  }

private:
  static JsonDocument parse(const std::string &text) {
    Result<JsonDocument> result = parseJson(text, "text");
    EXPECT_TRUE(result) << result.error().message;
    return std::move(*result);
  }

  static std::string getText(JsonValue value) {
    return std::string(*value.asString());
  }

  static bool isOfType(JsonValue value, const std::string &type) {
    return type == "object"    ? value.isObject()
           : type == "array"   ? value.isArray()
           : type == "string"  ? value.isString()
           : type == "integer" ? value.isInteger()
           : type == "number"  ? value.isNumber()
           : type == "boolean" ? value.isBool()
                               : false;
  }

  static bool areEqual(JsonValue a, JsonValue b) {
    return a.isString() && b.isString()   ? getText(a) == getText(b)
           : a.isNumber() && b.isNumber() ? *a.asDouble() == *b.asDouble()
                                          : false;
  }

  JsonValue resolve(const std::string &reference) const {
    const std::string start = "#/$defs/";
    EXPECT_EQ(reference.compare(0, start.size(), start), 0) << reference;
    return *document.root().find("$defs")->find(
        reference.substr(start.size()).c_str());
  }

  bool fits(JsonValue value, JsonValue schema) const {
    return check(value, schema).empty();
  }

  std::string checkObject(JsonValue value, JsonValue schema) const {
    if (auto required = schema.find("required"))
      for (JsonValue key : required->elements())
        if (!value.find(getText(key).c_str()))
          return value.pointer() + ": required '" + getText(key) + "'";
    auto properties = schema.find("properties");
    auto others = schema.find("additionalProperties");
    for (JsonValue::Member member : value.members()) {
      const std::string key(member.key);
      auto known = properties ? properties->find(key.c_str()) : std::nullopt;
      if (!known && others && others->isBool() && !*others->asBool())
        return member.value.pointer() + ": not allowed";
      std::string complaint;
      if (known)
        complaint = check(member.value, *known);
      else if (others && others->isObject())
        complaint = check(member.value, *others);
      if (!complaint.empty())
        return complaint;
    }
    return "";
  }

  std::string checkArray(JsonValue value, JsonValue schema) const {
    auto limit = [&](const char *key) { return schema.find(key)->asDouble(); };
    if (schema.find("minItems") && double(value.size()) < *limit("minItems"))
      return value.pointer() + ": minItems";
    if (schema.find("maxItems") && double(value.size()) > *limit("maxItems"))
      return value.pointer() + ": maxItems";
    if (auto items = schema.find("items"))
      for (JsonValue item : value.elements())
        if (std::string complaint = check(item, *items); !complaint.empty())
          return complaint;
    return "";
  }

  std::string checkScalar(JsonValue value, JsonValue schema) const {
    if (value.isString()) {
      const std::string text = getText(value);
      if (auto pattern = schema.find("pattern");
          pattern && !std::regex_search(text, std::regex(getText(*pattern))))
        return value.pointer() + ": pattern";
      if (auto least = schema.find("minLength");
          least && double(text.size()) < *least->asDouble())
        return value.pointer() + ": minLength";
      if (auto most = schema.find("maxLength");
          most && double(text.size()) > *most->asDouble())
        return value.pointer() + ": maxLength";
    } else if (value.isNumber()) {
      if (auto least = schema.find("minimum");
          least && *value.asDouble() < *least->asDouble())
        return value.pointer() + ": minimum";
      if (auto most = schema.find("maximum");
          most && *value.asDouble() > *most->asDouble())
        return value.pointer() + ": maximum";
    }
    return "";
  }

  /// `type`, `const` and `enum`.
  std::string checkKind(JsonValue value, JsonValue schema) const {
    if (auto type = schema.find("type")) {
      bool known = type->isString() && isOfType(value, getText(*type));
      if (type->isArray())
        for (JsonValue each : type->elements())
          known |= isOfType(value, getText(each));
      if (!known)
        return value.pointer() + ": type";
    }
    if (auto only = schema.find("const"); only && !areEqual(value, *only))
      return value.pointer() + ": const";
    if (auto choices = schema.find("enum")) {
      bool known = false;
      for (JsonValue choice : choices->elements())
        known |= areEqual(value, choice);
      if (!known)
        return value.pointer() + ": enum";
    }
    return "";
  }

  /// `$ref`, `allOf`, `anyOf`, `oneOf`, and `if`.
  std::string checkParts(JsonValue value, JsonValue schema) const {
    if (auto reference = schema.find("$ref"))
      if (std::string complaint = check(value, resolve(getText(*reference)));
          !complaint.empty())
        return complaint;
    if (auto parts = schema.find("allOf"))
      for (JsonValue part : parts->elements())
        if (std::string complaint = check(value, part); !complaint.empty())
          return complaint;
    for (const char *key : {"anyOf", "oneOf"})
      if (auto parts = schema.find(key)) {
        int count = 0;
        for (JsonValue part : parts->elements())
          count += fits(value, part);
        if (count == 0 || (count > 1 && std::string(key) == "oneOf"))
          return value.pointer() + ": " + key;
      }
    if (auto condition = schema.find("if"))
      if (auto then = schema.find(fits(value, *condition) ? "then" : "else"))
        return check(value, *then);
    return "";
  }

  std::string check(JsonValue value, JsonValue schema) const {
    static const std::set<std::string> keywords = {
        "$defs",       "$id",        "$ref",      "$schema",
        "allOf",       "anyOf",      "const",     "additionalProperties",
        "description", "else",       "enum",      "if",
        "items",       "maxItems",   "maxLength", "maximum",
        "minItems",    "minLength",  "minimum",   "oneOf",
        "pattern",     "properties", "required",  "then",
        "title",       "type"};
    for (JsonValue::Member member : schema.members())
      EXPECT_TRUE(keywords.count(std::string(member.key)))
          << "unknown keyword " << member.key;
    std::string complaint = checkKind(value, schema);
    if (complaint.empty())
      complaint = value.isObject()  ? checkObject(value, schema)
                  : value.isArray() ? checkArray(value, schema)
                                    : checkScalar(value, schema);
    return complaint.empty() ? checkParts(value, schema) : complaint;
  }

  JsonDocument document;
};

} // namespace transom::testing
