// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structs with visitFields() as JSON: three visitors that write the fields,
// read them, and write the schema. Every field is always written, so that the
// format does not depend on values. A field is a string, a number, a bool, an
// optional, a vector, a map with counts, or a nested struct.
#pragma once
#include "runtime/json/Json.h"
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

namespace transom {
namespace fields {

template <typename T> struct IsVector : std::false_type {};
template <typename T> struct IsVector<std::vector<T>> : std::true_type {
  using Item = T;
};
template <typename T>
inline constexpr bool isScalar =
    std::is_same_v<T, std::string> || std::is_arithmetic_v<T>;
using Counts = std::map<std::string, int64_t>;
template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {
  using Item = T;
};
/// True for a struct that is written as an array.
template <typename T, typename = void> struct IsTuple : std::false_type {};
template <typename T>
struct IsTuple<T, std::enable_if_t<T::isTuple>> : std::true_type {};

//===----------------------------------------------------------------------===//
// Writer
//===----------------------------------------------------------------------===//

class Writer {
public:
  explicit Writer(JsonWriter &json) : json(json) {}

  template <typename T>
  void field(const char *key, const T &member, const char *) {
    if (!inTuple)
      json.key(key);
    write(member);
  }

private:
  template <typename T> void write(const T &member) {
    if constexpr (isScalar<T>) {
      json.value(member);
    } else if constexpr (IsOptional<T>::value) {
      if (member)
        write(*member);
      else
        json.null();
    } else if constexpr (std::is_same_v<T, Counts>) {
      json.beginObject();
      for (const auto &[name, count] : member)
        json.member(name, count);
      json.endObject();
    } else if constexpr (IsVector<T>::value) {
      json.beginArray();
      for (const auto &item : member)
        write(item);
      json.endArray();
    } else {
      const bool outer = std::exchange(inTuple, IsTuple<T>::value);
      inTuple ? json.beginArray() : json.beginObject();
      T::visitFields(member, *this);
      inTuple ? json.endArray() : json.endObject();
      inTuple = outer;
    }
  }

  JsonWriter &json;
  bool inTuple = false; ///< fields are written as array elements
};

//===----------------------------------------------------------------------===//
// Reader
//===----------------------------------------------------------------------===//

/// Key paths, such as `passes.ir`, where a JSON text in another format differs.
struct FormDifference {
  std::set<std::string> missing; ///< keys that could not be read
  std::set<std::string> unknown; ///< keys only in the text
};

/// Reads the members of one object, or tuple elements; keeps the first error.
/// With a difference it continues instead: a field that cannot be read keeps
/// its default and is noted there.
class Reader {
public:
  Reader(JsonValue object, FormDifference *difference, std::string path)
      : object(object), difference(difference), path(std::move(path)) {}

  template <typename T>
  static Result<void> read(JsonValue from, T &into,
                           FormDifference *difference = nullptr,
                           const std::string &path = {});

  template <typename T> void field(const char *key, T &member, const char *) {
    keys.push_back(key);
    if (!status)
      return;
    Result<void> done = readField(key, member);
    if (done)
      return;
    if (!difference) {
      status = std::move(done);
      return;
    }
    member = T();
    difference->missing.insert(path + key);
  }

  Result<void> finish() {
    TRANSOM_TRY(std::move(status));
    if (difference) {
      addUnknownKeys();
      return {};
    }
    if (object.isArray() && object.size() != keys.size())
      return object.error("expected " + std::to_string(keys.size()) +
                          " elements, got " + std::to_string(object.size()));
    return object.isArray() ? Result<void>() : object.expectOnlyKeys(keys);
  }

private:
  template <typename T> Result<void> readField(const char *key, T &member) {
    const std::string inner = difference ? path + key + "." : std::string();
    if (object.isArray() && keys.size() <= object.size())
      return read(object[keys.size() - 1], member, difference, inner);
    TRANSOM_ASSIGN(JsonValue value, object.get(key));
    return read(value, member, difference, inner);
  }

  void addUnknownKeys() {
    if (object.isArray())
      return;
    for (auto [key, value] : object.members())
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        difference->unknown.insert(path + std::string(key));
  }

  static Result<void> assign(JsonValue from, std::string &into) {
    TRANSOM_ASSIGN(into, from.asString());
    return {};
  }
  static Result<void> assign(JsonValue from, bool &into) {
    TRANSOM_ASSIGN(into, from.asBool());
    return {};
  }
  static Result<void> assign(JsonValue from, int64_t &into) {
    TRANSOM_ASSIGN(into, from.asInt());
    return {};
  }
  static Result<void> assign(JsonValue from, double &into) {
    TRANSOM_ASSIGN(into, from.asDouble());
    return {};
  }
  static Result<void> assign(JsonValue from, Counts &into) {
    TRANSOM_TRY(from.expectObject());
    for (auto [key, value] : from.members()) {
      TRANSOM_ASSIGN(into[std::string(key)], value.asInt());
    }
    return {};
  }

  JsonValue object;
  FormDifference *difference;
  std::string path; ///< object path, ending in a point
  std::vector<std::string> keys;
  Result<void> status;
};

template <typename T>
Result<void> Reader::read(JsonValue from, T &into, FormDifference *difference,
                          const std::string &path) {
  if constexpr (isScalar<T> || std::is_same_v<T, Counts>) {
    return assign(from, into);
  } else if constexpr (IsOptional<T>::value) {
    return from.isNull() ? Result<void>()
                         : read(from, into.emplace(), difference, path);
  } else if constexpr (IsVector<T>::value) {
    TRANSOM_TRY(from.expectArray());
    for (JsonValue item : from.elements())
      TRANSOM_TRY(read(item, into.emplace_back(), difference, path));
    return {};
  } else {
    TRANSOM_TRY(IsTuple<T>::value ? from.expectArray() : from.expectObject());
    Reader reader(from, difference, path);
    T::visitFields(into, reader);
    return reader.finish();
  }
}

//===----------------------------------------------------------------------===//
// Eraser
//===----------------------------------------------------------------------===//

/// Resets the fields at some paths to their defaults.
class Eraser {
public:
  Eraser(const std::set<std::string> &paths, std::string path)
      : paths(paths), path(std::move(path)) {}

  template <typename T> void field(const char *key, T &member, const char *) {
    if (paths.count(path + key))
      member = T();
    else
      visit(member, path + key + ".");
  }

private:
  template <typename T> void visit(T &member, const std::string &inner) {
    if constexpr (isScalar<T> || std::is_same_v<T, Counts>) {
      return;
    } else if constexpr (IsOptional<T>::value) {
      if (member)
        visit(*member, inner);
    } else if constexpr (IsVector<T>::value) {
      for (auto &item : member)
        visit(item, inner);
    } else {
      Eraser eraser(paths, inner);
      T::visitFields(member, eraser);
    }
  }

  const std::set<std::string> &paths;
  std::string path;
};

//===----------------------------------------------------------------------===//
// Schema
//===----------------------------------------------------------------------===//

/// Writes the schema for each field in a struct.
class Schema {
public:
  Schema(JsonWriter &json, bool inTuple) : json(json), inTuple(inTuple) {}

  template <typename T>
  void field(const char *key, const T &, const char *description) {
    keys.push_back(key);
    if (!inTuple)
      json.key(key);
    json.beginObject();
    if (inTuple)
      json.member("title", key);
    json.member("description", description);
    writeType<T>(json);
    json.endObject();
  }

  /// Writes the schema members for a struct.
  template <typename T> static void writeStruct(JsonWriter &json) {
    constexpr bool isTuple = IsTuple<T>::value;
    const T sample{};
    Schema writer(json, isTuple);
    json.member("type", isTuple ? "array" : "object");
    json.key(isTuple ? "prefixItems" : "properties");
    isTuple ? json.beginArray() : json.beginObject();
    T::visitFields(sample, writer);
    isTuple ? json.endArray() : json.endObject();
    if (isTuple) {
      json.member("minItems", static_cast<uint64_t>(writer.keys.size()));
      json.member("items", false);
      return;
    }
    json.key("required");
    json.array(writer.keys);
    json.member("additionalProperties", false);
  }

private:
  /// Writes the schema members for any type.
  template <typename T> static void writeType(JsonWriter &json) {
    if constexpr (std::is_same_v<T, std::string>) {
      json.member("type", "string");
    } else if constexpr (std::is_same_v<T, bool>) {
      json.member("type", "boolean");
    } else if constexpr (std::is_same_v<T, int64_t>) {
      json.member("type", "integer");
    } else if constexpr (std::is_same_v<T, double>) {
      json.member("type", "number");
    } else if constexpr (IsOptional<T>::value) {
      json.key("anyOf");
      json.beginArray();
      writeObject<typename IsOptional<T>::Item>(json);
      json.beginObject();
      json.member("type", "null");
      json.endObject();
      json.endArray();
    } else if constexpr (std::is_same_v<T, Counts>) {
      json.member("type", "object");
      json.key("additionalProperties");
      writeObject<int64_t>(json);
    } else if constexpr (IsVector<T>::value) {
      json.member("type", "array");
      json.key("items");
      writeObject<typename IsVector<T>::Item>(json);
    } else {
      writeStruct<T>(json);
    }
  }

  template <typename T> static void writeObject(JsonWriter &json) {
    json.beginObject();
    writeType<T>(json);
    json.endObject();
  }

  JsonWriter &json;
  bool inTuple;
  std::vector<std::string> keys;
};

} // namespace fields

/// Returns a struct as JSON in several lines.
template <typename T> std::string writeFields(const T &value) {
  std::string text;
  JsonWriter json(text, 1);
  json.beginObject();
  fields::Writer writer(json);
  T::visitFields(value, writer);
  json.endObject();
  return text + "\n";
}

/// Reads the output of writeFields(). Unknown keys are errors.
template <typename T> Result<T> readFields(JsonValue from) {
  T value;
  TRANSOM_TRY(fields::Reader::read(from, value));
  return Result<T>(std::move(value));
}

/// Reads the known fields of a JSON text in another format, and reports how the
/// formats differ. Fails if the text is not an object.
template <typename T>
Result<T> readKnownFields(JsonValue from, fields::FormDifference &difference) {
  T value;
  TRANSOM_TRY(fields::Reader::read(from, value, &difference));
  return Result<T>(std::move(value));
}

/// Resets the fields at these paths to their defaults.
template <typename T>
void eraseFields(T &value, const std::set<std::string> &paths) {
  fields::Eraser eraser(paths, "");
  T::visitFields(value, eraser);
}

/// Returns the JSON schema (draft 2020-12) for a struct.
template <typename T> std::string writeFieldSchema(const char *title) {
  std::string text;
  JsonWriter json(text, 2);
  json.beginObject();
  json.member("$schema", "https://json-schema.org/draft/2020-12/schema");
  json.member("title", title);
  fields::Schema::writeStruct<T>(json);
  json.endObject();
  return text + "\n";
}

} // namespace transom
