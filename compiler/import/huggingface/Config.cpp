// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Config keys with their values and defaults.
#include "compiler/import/huggingface/Config.h"
#include "runtime/base/Suggest.h"
#include <algorithm>
#include <cmath>

using namespace transom;

namespace {
struct ActivationRow {
  const char *name;
  std::optional<Activation> kind;
};
/// Alternative activation names; the tanh forms only differ in rounding.
const ActivationRow activationNames[] = {
    {"gelu_python", Activation::Gelu},
    {"gelu_new", Activation::GeluTanh},
    {"gelu_fast", Activation::GeluTanh},
    {"gelu_pytorch_tanh", Activation::GeluTanh},
    {"gelu_python_tanh", Activation::GeluTanh},
    {"gelu_accurate", Activation::GeluTanh},
    {"swish", Activation::Silu},
    {"linear", std::nullopt},
};
} // namespace

ActivationName transom::activationNamed(const std::string &name) {
  for (const ActivationRow &row : activationNames)
    if (name == row.name)
      return {true, row.kind};
  std::optional<Activation> kind = parseActivation(name);
  if (kind && getActivationInfo(*kind).usage & activation::Model)
    return {true, kind};
  return {};
}

void Config::fail(Error error) {
  if (!failure)
    failure = std::move(error);
}

std::optional<JsonValue> Config::find(const ConfigKey &key) {
  std::optional<JsonValue> found;
  for (const char *spelling : key) {
    known.insert(spelling);
    std::optional<JsonValue> value = lookUp(spelling);
    if (!found && value && !value->isNull())
      found = value;
  }
  return found;
}

bool Config::isNull(const ConfigKey &key) {
  bool null = false;
  for (const char *spelling : key) {
    known.insert(spelling);
    std::optional<JsonValue> value = lookUp(spelling);
    null = null || (value && value->isNull());
  }
  return null && !find(key);
}

int64_t Config::integer(const ConfigKey &key, int64_t absent, int64_t low,
                        int64_t high, const char *size) {
  std::optional<JsonValue> value = find(key);
  const int64_t number = value ? take(value->asInt(low, high), absent) : absent;
  if (!key.empty())
    integers.push_back(
        {value ? std::string(value->key()) : key[0], number, size});
  return number;
}

std::string Config::explain(const Integer &integer) const {
  if (std::optional<JsonValue> value = lookUp(integer.key);
      value && !value->isNull())
    return "; see " + value->where();
  std::string text = "; " + document.fileName() + " has no '" +
                     root().pointer() + "/" + integer.key +
                     "', its default is " + std::to_string(integer.value);
  for (const std::string &unknown : unknownKeys())
    if (!suggest(unknown, {integer.key}).empty())
      text += "; key '" + unknown + "' is not known" +
              suggest(unknown, {integer.key});
  return text;
}

/// Returns the integers that a size is computed from, in the order of its
/// words.
std::vector<const Config::Integer *>
Config::findSources(const ExpectedSize &size) const {
  // Longer names first: `key-value heads` contains `heads`.
  std::vector<const Integer *> named;
  for (const Integer &integer : integers)
    if (size.words.empty() ? integer.value == size.size : !integer.size.empty())
      named.push_back(&integer);
  if (size.words.empty())
    return {named.begin(), named.begin() + !named.empty()};
  std::stable_sort(named.begin(), named.end(),
                   [&](const Integer *a, const Integer *b) {
                     const bool fits = a->value == size.size;
                     return a->size.size() != b->size.size()
                                ? a->size.size() > b->size.size()
                                : fits > (b->value == size.size);
                   });
  std::string words = size.words;
  std::vector<std::pair<size_t, const Integer *>> found;
  for (const Integer *integer : named)
    if (const size_t at = words.find(integer->size); at != std::string::npos) {
      words.replace(at, integer->size.size(), integer->size.size(), '#');
      found.emplace_back(at, integer);
    }
  std::sort(found.begin(), found.end());
  std::vector<const Integer *> sources;
  for (const auto &[at, integer] : found)
    sources.push_back(integer);
  return sources;
}

std::string Config::explainSizes(const std::vector<ExpectedSize> &sizes) const {
  std::vector<const Integer *> all;
  for (const ExpectedSize &size : sizes)
    for (const Integer *source : findSources(size))
      if (std::find(all.begin(), all.end(), source) == all.end())
        all.push_back(source);
  std::string text;
  for (const Integer *source : all)
    text += explain(*source);
  return text;
}

std::string Config::explainLayer(int64_t layer) const {
  for (const Integer &integer : integers)
    if (integer.key.find("layer") != std::string::npos && integer.value > layer)
      return explain(integer);
  return "";
}

double Config::number(const ConfigKey &key, double absent) {
  std::optional<JsonValue> value = find(key);
  if (!value)
    return absent;
  double number = take(value->asDouble(), absent);
  if (!std::isfinite(number) || number < 0)
    fail(value->error("expected a finite number that is not negative"));
  return number;
}

bool Config::flag(const ConfigKey &key, bool absent) {
  std::optional<JsonValue> value = find(key);
  return value ? take(value->asBool(), absent) : absent;
}

std::string Config::text(const ConfigKey &key, const std::string &absent) {
  std::optional<JsonValue> value = find(key);
  return value ? std::string(take(value->asString(), std::string_view()))
               : absent;
}

std::optional<Activation> Config::activation(const ConfigKey &key,
                                             const std::string &absent) {
  std::string name = text(key, absent);
  ActivationName found = activationNamed(name);
  if (!found.known && !failed()) {
    std::vector<std::string> names = getActivationNames(activation::Model);
    for (const ActivationRow &row : activationNames)
      names.push_back(row.name);
    fail(find(key)->error("unsupported activation '" + name + "'; supported: " +
                              joinNames(names) + suggest(name, names),
                          Status::Unsupported));
  }
  return found.kind;
}

void Config::requireText(const ConfigKey &key, const std::string &supported) {
  std::vector<std::string> names;
  for (std::string_view rest = supported; !rest.empty();) {
    size_t end = std::min(rest.find('|'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::string value = text(key, names.front());
  if (std::find(names.begin(), names.end(), value) == names.end() && !failed())
    fail(find(key)->error("'" + std::string(key[0]) + "' is '" + value +
                              "'; supported: " + joinNames(names),
                          Status::Unsupported));
}

void Config::requireFlag(const ConfigKey &key, bool supported) {
  if (flag(key, supported) != supported)
    fail(find(key)->error(
        "'" + std::string(key[0]) + "' is " +
            (supported ? "false; supported: true" : "true; supported: false"),
        Status::Unsupported));
}

void Config::requireInteger(const ConfigKey &key, int64_t supported) {
  int64_t value = integer(key, supported, INT64_MIN, INT64_MAX);
  if (value != supported && !failed())
    fail(find(key)->error("'" + std::string(key[0]) + "' is " +
                              std::to_string(value) +
                              "; supported: " + std::to_string(supported),
                          Status::Unsupported));
}

void Config::requireAbsent(const ConfigKey &key, const std::string &why) {
  std::optional<JsonValue> value = find(key);
  if (value && !((value->isObject() || value->isArray()) && value->size() == 0))
    fail(value->error("'" + std::string(key[0]) + "' is set; " + why,
                      Status::Unsupported));
}

void Config::checkMembers(JsonValue object,
                          const std::vector<const char *> &names) {
  for (JsonValue::Member member : object.members())
    if (!member.value.isNull() &&
        std::find(names.begin(), names.end(), member.key) == names.end())
      unknownMembers.push_back(member.value.pointer().substr(1));
}

void Config::ignore(const std::vector<const char *> &keys) {
  known.insert(keys.begin(), keys.end());
}

std::vector<std::string> Config::unknownKeys() const {
  std::vector<std::string> unknown;
  for (JsonValue::Member member : root().members())
    if (member.key.substr(0, 1) != "_" && !member.value.isNull() &&
        !known.count(std::string(member.key)))
      unknown.push_back(std::string(member.key));
  unknown.insert(unknown.end(), unknownMembers.begin(), unknownMembers.end());
  return unknown;
}
