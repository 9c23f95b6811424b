// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading of config.json: typed keys with the defaults of their class, several
// spellings of one key, and an account of the keys that nobody read. The first
// error sticks.
#pragma once
#include "compiler/import/ImportErrors.h"
#include "dialects/attn/Attn.h"
#include "runtime/json/JsonObject.h"
#include <optional>
#include <set>

namespace transom {

/// The spellings of one key, the preferred one first. Empty = the family has
/// no such key.
using ConfigKey = std::vector<const char *>;

/// A config.json being read.
class Config {
public:
  explicit Config(JsonDocument document) : document(std::move(document)) {}
  /// Reads an object inside of a document.
  Config(JsonDocument document, JsonValue object)
      : document(std::move(document)), object(object) {}

  /// Keys that count before those of the file.
  void override(JsonObject object) { overrides = std::move(object); }

  /// The value of a key; nothing when absent or null. Marks it as known.
  std::optional<JsonValue> find(const ConfigKey &key);
  /// True when the key is there and null, which some classes read as 'off'.
  bool isNull(const ConfigKey &key);
  /// An integer in [low, high]. `size` is the name that shapes of tensors have
  /// for it, as in `ExpectedSize::words`.
  int64_t integer(const ConfigKey &key, int64_t absent, int64_t low,
                  int64_t high, const char *size = "");
  /// Records that a key determines a size without being an integer.
  void noteSize(const char *key, int64_t value, const char *size) {
    integers.push_back({key, value, size});
  }
  /// A finite number >= 0.
  double number(const ConfigKey &key, double absent);
  bool flag(const ConfigKey &key, bool absent);
  std::string text(const ConfigKey &key, const std::string &absent);
  /// An activation by one of its names; nothing for 'linear'.
  std::optional<Activation> activation(const ConfigKey &key,
                                       const std::string &absent);
  /// Refuses (`Unsupported`) a key whose value is set and not `supported`, of
  /// texts one of several with `|` between them.
  void requireText(const ConfigKey &key, const std::string &supported);
  void requireFlag(const ConfigKey &key, bool supported);
  void requireInteger(const ConfigKey &key, int64_t supported);
  /// Refuses a key that is there and neither null nor empty.
  void requireAbsent(const ConfigKey &key, const std::string &why);

  /// The keys that these sizes come from, as the end of an error message:
  /// `; see config.json:3:18: '/hidden_size'`, or the defaults of absent keys.
  /// A size without words is explained by the first equal integer. Empty if no
  /// key is known.
  std::string explainSizes(const std::vector<ExpectedSize> &sizes) const;
  /// The same for a number of layers of which `layer` is one.
  std::string explainLayer(int64_t layer) const;

  /// Notes members of an object that are not among the known ones.
  void checkMembers(JsonValue object, const std::vector<const char *> &known);

  /// Keys without effect on inference.
  void ignore(const std::vector<const char *> &keys);
  /// The keys with a value that were neither read nor ignored, in the file's
  /// order.
  std::vector<std::string> unknownKeys() const;

  /// Records an error unless there is one.
  void fail(Error error);
  bool failed() const { return failure.has_value(); }
  Error takeError() { return std::move(*failure); }
  JsonValue root() const { return object ? *object : document.root(); }

private:
  /// The value of a key in the overrides or the file.
  std::optional<JsonValue> lookUp(const std::string &key) const {
    auto value =
        overrides ? overrides->value.find(key) : std::optional<JsonValue>();
    return value ? value : root().find(key);
  }
  template <typename T> T take(Result<T> result, T absent) {
    if (result)
      return *result;
    fail(result.takeError());
    return absent;
  }
  /// An integer that was asked for.
  struct Integer {
    std::string key; ///< as it is in the file, or the preferred spelling
    int64_t value;
    std::string size; ///< its name in shapes, or empty
  };
  std::string explain(const Integer &integer) const;
  std::vector<const Integer *> findSources(const ExpectedSize &size) const;

  JsonDocument document;
  std::optional<JsonValue> object; ///< nothing: the top level
  std::optional<JsonObject> overrides;
  std::set<std::string> known;
  std::vector<Integer> integers;
  std::vector<std::string> unknownMembers; // of objects, by pointer
  std::optional<Error> failure;
};

/// The activation of that name in Hugging Face's spelling, in two forms so that
/// 'linear' (no function) differs from an unknown name.
struct ActivationName {
  bool known = false;
  std::optional<Activation> kind;
};
ActivationName activationNamed(const std::string &name);

} // namespace transom
