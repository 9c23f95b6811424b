// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads generation option values from a model's files, according to the
// option's member type.
#pragma once
#include "runtime/generate/GenerationOptions.h"
#include "runtime/json/Json.h"
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace transom {

/// Reads, checks and writes one value.
class GenerationOptionWriter {
public:
  GenerationOptionWriter(JsonWriter &json, const GenerationOption &option)
      : json(json), option(option) {}

  template <typename T>
  Result<void> write(JsonValue value, const std::optional<T> &) {
    return write(value, T());
  }
  /// An id may be the only element in a list.
  Result<void> write(JsonValue value, int64_t) {
    // Ids can be any integer, counts are limited so that sums do not overflow.
    const bool isAny = option.low == -GenerationOption::unbounded;
    if (isAny && value.isArray()) {
      if (value.size() != 1)
        return value.error("expected an integer or a list of one, got " +
                           std::to_string(value.size()) + " elements");
      value = value[0];
    }
    const double most = std::numeric_limits<int32_t>::max();
    TRANSOM_ASSIGN(int64_t number,
                   isAny ? value.asInt()
                         : value.asInt(int64_t(option.low),
                                       int64_t(std::min(option.high, most))));
    json.member(option.key, number);
    return {};
  }
  Result<void> write(JsonValue value, double) {
    TRANSOM_ASSIGN(double number, value.asDouble());
    const double high = std::min(option.high, 1e30);
    if (!(number >= option.low && number <= high))
      return value.error("expected a number in [" + getText(option.low) + ", " +
                         getText(high) + "], got " + getText(number));
    json.member(option.key, number);
    return {};
  }
  Result<void> write(JsonValue value, bool) {
    TRANSOM_ASSIGN(bool flag, value.asBool());
    json.member(option.key, flag);
    return {};
  }
  /// A boolean or "never".
  Result<void> write(JsonValue value, EarlyStopping) {
    if (value.isBool())
      return write(value, bool());
    if (!value.isString() || *value.asString() != "never")
      return value.typeError("true, false or \"never\"");
    json.member(option.key, "never");
    return {};
  }
  /// A list of nonempty id lists.
  Result<void> write(JsonValue value,
                     const std::vector<std::vector<int64_t>> &) {
    TRANSOM_TRY(value.expectArray());
    json.key(option.key);
    json.beginArray();
    for (JsonValue element : value.elements()) {
      constexpr auto high = std::numeric_limits<int64_t>::max();
      TRANSOM_ASSIGN(std::vector<int64_t> ids, element.asIntArray(0, high));
      if (ids.empty())
        return element.error("expected at least one id");
      json.array(ids);
    }
    json.endArray();
    return {};
  }
  /// An integer or a list.
  Result<void> write(JsonValue value, const std::vector<int64_t> &) {
    std::vector<int64_t> ids;
    if (value.isArray()) {
      constexpr auto low = std::numeric_limits<int64_t>::min();
      constexpr auto high = std::numeric_limits<int64_t>::max();
      TRANSOM_ASSIGN(ids, value.asIntArray(low, high));
    } else if (Result<int64_t> id = value.asInt()) {
      ids.push_back(*id);
    } else {
      return value.typeError("an integer or a list of integers");
    }
    json.key(option.key);
    json.array(ids);
    return {};
  }
  /// A nonempty string or a list with such strings.
  Result<void> write(JsonValue value, const std::vector<std::string> &) {
    std::vector<std::string> texts;
    if (value.isString()) {
      texts.emplace_back(*value.asString());
    } else {
      TRANSOM_ASSIGN(texts, value.asStringArray());
    }
    for (const std::string &text : texts)
      if (text.empty())
        return value.error("a stop string is empty");
    json.key(option.key);
    json.array(texts);
    return {};
  }

  /// A default: an integer, or the only element in a list.
  template <typename T> void writeDefault(int64_t number, const T &) {
    if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      json.key(option.key);
      json.array(std::vector<int64_t>{number});
    } else {
      json.member(option.key, number);
    }
  }

private:
  static std::string getText(double value) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", value);
    return text;
  }

  JsonWriter &json;
  const GenerationOption &option;
};

} // namespace transom
