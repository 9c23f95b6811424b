// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads config.json: typed keys with class defaults, several spellings for one
// key, and a list of unread keys. The first error is persistent.
#pragma once
#include "compiler/import/ImportErrors.h"
#include "dialects/attn/Attn.h"
#include "runtime/json/JsonObject.h"
#include <optional>
#include <set>

namespace transom {

/// Spellings of one key, the preferred one first. Empty = the family has no
/// such key.
using ConfigKey = std::vector<const char *>;

/// A config.json being read.
class Config {
public:
  explicit Config(JsonDocument document) : document(std::move(document)) {}
  /// Reads an object inside a document.
  Config(JsonDocument document, JsonValue object)
      : document(std::move(document)), object(object) {}

  /// Sets keys that take precedence over the file.
  void override(JsonObject object) { overrides = std::move(object); }

  /// Returns the key's value; nullopt if absent or null. Marks the key as
  /// known.
  std::optional<JsonValue> find(const ConfigKey &key);
  /// Returns true if the key exists and is null, which some classes read as
  /// 'off'.
  bool isNull(const ConfigKey &key);
  /// Reads an integer in [low, high]. `size` is its name in tensor shapes, as
  /// in `ExpectedSize::words`.
  int64_t integer(const ConfigKey &key, int64_t absent, int64_t low,
                  int64_t high, const char *size = "");
  /// Records that a key determines a size without being an integer.
  void noteSize(const char *key, int64_t value, const char *size) {
    integers.push_back({key, value, size});
  }
  /// Reads a finite number >= 0.
  double number(const ConfigKey &key, double absent);
  bool flag(const ConfigKey &key, bool absent);
  std::string text(const ConfigKey &key, const std::string &absent);
  /// Reads an activation name; nullopt for 'linear'.
  std::optional<Activation> activation(const ConfigKey &key,
                                       const std::string &absent);
  /// Rejects (`Unsupported`) a key whose value is set and not `supported`;
  /// string values are separated by `|`.
  void requireText(const ConfigKey &key, const std::string &supported);
  void requireFlag(const ConfigKey &key, bool supported);
  void requireInteger(const ConfigKey &key, int64_t supported);
  /// Rejects a key that exists and is neither null nor empty.
  void requireAbsent(const ConfigKey &key, const std::string &why);

  /// Returns the keys that determine these sizes, as the suffix of an error
  /// message: `; see config.json:3:18: '/hidden_size'`, or the defaults for
  /// absent keys. A size without words is explained by the first equal integer.
  /// Empty if no key is known.
  std::string explainSizes(const std::vector<ExpectedSize> &sizes) const;
  /// The same for the layer count, given an index `layer` below it.
  std::string explainLayer(int64_t layer) const;

  /// Notes an object's unknown members.
  void checkMembers(JsonValue object, const std::vector<const char *> &known);

  /// Marks keys as having no effect on inference.
  void ignore(const std::vector<const char *> &keys);
  /// Returns the keys with a value that were neither read nor ignored, in file
  /// order.
  std::vector<std::string> unknownKeys() const;

  /// Records an error unless there is one.
  void fail(Error error);
  bool failed() const { return failure.has_value(); }
  Error takeError() { return std::move(*failure); }
  JsonValue root() const { return object ? *object : document.root(); }

private:
  /// Returns a key's value in the overrides or the file.
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
  /// An integer that was read.
  struct Integer {
    std::string key; ///< as spelled in the file, or the preferred spelling
    int64_t value;
    std::string size; ///< its name in shapes; may be empty
  };
  std::string explain(const Integer &integer) const;
  std::vector<const Integer *> findSources(const ExpectedSize &size) const;

  JsonDocument document;
  std::optional<JsonValue> object; ///< nullopt: the top level
  std::optional<JsonObject> overrides;
  std::set<std::string> known;
  std::vector<Integer> integers;
  std::vector<std::string> unknownMembers; // in objects, by pointer
  std::optional<Error> failure;
};

/// The activation for a Hugging Face name; two levels distinguish 'linear' (no
/// function) from an unknown name.
struct ActivationName {
  bool known = false;
  std::optional<Activation> kind;
};
ActivationName activationNamed(const std::string &name);

} // namespace transom
