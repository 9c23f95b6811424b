// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A visitor that writes manifest fields as JSON: a whole object, or only the
// fields listed by key.
#pragma once
#include "runtime/json/Json.h"
#include "runtime/manifest/ManifestFields.h"
#include <algorithm>
#include <initializer_list>

namespace transom::manifest {

class Writer {
public:
  explicit Writer(JsonWriter &json) : json(json) {}

  /// Writes all fields of `object` between braces.
  template <typename Object> void writeObject(const Object &object) {
    json.beginObject();
    Writer all(json);
    Object::visitFields(object, all);
    json.endObject();
  }

  /// Writes the fields listed in `keys`, in that order, into the open object.
  template <typename Object>
  void writeFields(const Object &object,
                   std::initializer_list<std::string_view> keys) {
    for (std::string_view key : keys) {
      Writer one(json);
      one.selected = key;
      Object::visitFields(object, one);
    }
  }

  template <typename T, typename... Constraint>
  void required(const char *key, const T &member, const Constraint &...) {
    if (!isSelected(key))
      return;
    json.key(key);
    write(member);
  }
  template <typename T, typename... Constraint>
  void defaulted(const char *key, const T &member, const Constraint &...) {
    required(key, member);
  }
  template <typename T, typename... Constraint>
  void optional(const char *key, const T &member, const Constraint &...) {
    if (!isDefault(member))
      required(key, member);
  }
  template <typename T>
  void nullable(const char *key, const std::optional<T> &member) {
    if (!isSelected(key))
      return;
    json.key(key);
    if (member)
      write(*member);
    else
      json.null();
  }
  void either(std::initializer_list<const char *> keys, bool second,
              int64_t member) {
    required(keys.begin()[second], member);
  }

private:
  bool isSelected(std::string_view key) const {
    return selected.empty() || key == selected;
  }

  template <typename T> static bool isDefault(const T &value) {
    return value == T();
  }
  template <typename T> static bool isDefault(const std::vector<T> &values) {
    return values.empty();
  }
  template <typename T> static bool isDefault(const std::optional<T> &value) {
    return !value.has_value();
  }

  void write(bool value) { json.value(value); }
  void write(int64_t value) { json.value(value); }
  void write(uint64_t value) { json.value(value); }
  void write(double value) { json.value(value); }
  void write(const std::string &value) { json.value(value); }
  void write(DType value) { json.value(dtypeName(value)); }
  void write(EntryKind value) { json.value(getEntryKindName(value)); }
  void write(const Polynomial &value) { json.value(value.str()); }
  template <typename T> void write(const std::optional<T> &value) {
    write(*value);
  }
  template <typename T> void write(const std::vector<T> &values) {
    json.beginArray();
    for (const T &value : values)
      write(value);
    json.endArray();
  }
  void write(const std::map<std::string, std::string> &texts) {
    writeTexts(texts);
  }
  void write(const std::vector<std::pair<std::string, std::string>> &texts) {
    writeTexts(texts);
  }
  void write(const std::vector<ManifestSymbol> &symbols) {
    json.beginObject();
    for (const ManifestSymbol &symbol : symbols) {
      json.key(symbol.name);
      writeObject(symbol);
    }
    json.endObject();
  }
  template <typename Object> void write(const Object &object) {
    writeObject(object);
  }

  template <typename Texts> void writeTexts(const Texts &texts) {
    json.beginObject();
    for (const auto &[key, text] : texts)
      json.member(key, text);
    json.endObject();
  }

  JsonWriter &json;
  std::string_view selected; ///< the one key to write; empty: all
};

} // namespace transom::manifest
