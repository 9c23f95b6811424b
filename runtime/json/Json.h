// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON reader: an immutable document whose values record their position,
// getters that return errors with file, line, column and JSON pointer, and a
// streaming writer. The rules are strict: no duplicate keys, at most 64 levels,
// integers exact, at most 256 MiB, valid UTF-8.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace transom {

inline constexpr uint64_t jsonMaxBytes = uint64_t(256) << 20;
inline constexpr unsigned jsonMaxDepth = 64;

class JsonDocument;
namespace detail {
struct JsonStorage;
}

/// One value in a document: a small handle that is cheap to copy and valid as
/// long as the document.
class JsonValue {
public:
  /// `Uint64` is an integer over the largest int64; every other integer
  /// literal is `Int64`, and a literal with a point or exponent is `Double`.
  enum class Kind : uint8_t {
    Null,
    Bool,
    Int64,
    Uint64,
    Double,
    String,
    Array,
    Object
  };
  struct Member;
  template <typename Item> class Range;

  Kind kind() const;
  bool isNull() const { return kind() == Kind::Null; }
  bool isBool() const { return kind() == Kind::Bool; }
  /// True for `Int64` and `Uint64`.
  bool isInteger() const {
    return kind() == Kind::Int64 || kind() == Kind::Uint64;
  }
  bool isNumber() const { return isInteger() || kind() == Kind::Double; }
  bool isString() const { return kind() == Kind::String; }
  bool isArray() const { return kind() == Kind::Array; }
  bool isObject() const { return kind() == Kind::Object; }

  // Position in the file.

  /// Line where the value starts, from 1.
  uint32_t line() const;
  /// Column where the value starts, in bytes, from 1.
  uint32_t column() const;
  /// Its JSON pointer (RFC 6901), empty for the top level.
  std::string pointer() const;
  /// `FILE:LINE:COL: 'POINTER'`, without the pointer at the top level.
  std::string where() const;
  /// `where(): text` as an error.
  Error error(const std::string &text, Status status = Status::Rejected) const;
  /// `where(): expected an integer, got a string`.
  Error typeError(const std::string &expected) const;
  /// `a string`, `an integer`, `null`, ... as in errors.
  std::string kindText() const;

  // Scalars, with errors that name the location.

  Result<bool> asBool() const;
  /// An integer that fits int64 (1.0 is not an integer).
  Result<int64_t> asInt() const;
  /// An integer in [low, high]; the error names the value and the range.
  Result<int64_t> asInt(int64_t low, int64_t high) const;
  Result<uint64_t> asUint() const;
  /// Any number; integers are converted.
  Result<double> asDouble() const;
  /// The string, valid as long as the document.
  Result<std::string_view> asString() const;

  // Arrays and objects.

  /// The number of elements or members, 0 for scalars.
  size_t size() const;
  /// Element i of an array, or the i-th member's value in an object; i <
  /// size().
  JsonValue operator[](size_t i) const;
  /// The key if the value is an object member; empty otherwise.
  std::string_view key() const;
  /// The member with that name; nullopt if absent or if this is not an object.
  /// Logarithmic.
  std::optional<JsonValue> find(std::string_view key) const;
  /// The member with that name, or the error `missing key 'x'`.
  Result<JsonValue> get(std::string_view key) const;
  /// The elements, for `for (JsonValue v : a.elements())`; empty for other
  /// kinds.
  Range<JsonValue> elements() const;
  /// The members in file order; empty for other kinds.
  Range<Member> members() const;
  /// An error if this is not an array / not an object.
  Result<void> expectArray() const;
  Result<void> expectObject() const;
  /// Reads an array whose integers are in [low, high].
  Result<std::vector<int64_t>> asIntArray(int64_t low, int64_t high) const;
  /// Reads a string array.
  Result<std::vector<std::string>> asStringArray() const;
  /// An error for the first object member whose key is not in `known`:
  /// `unknown key 'hiden'; did you mean 'hidden'?`.
  Result<void> expectOnlyKeys(const std::vector<std::string> &known) const;

private:
  friend class JsonDocument;
  JsonValue(const detail::JsonStorage *storage, uint32_t index)
      : storage(storage), index(index) {}
  const detail::JsonStorage *storage;
  uint32_t index;
};

/// An object member.
struct JsonValue::Member {
  std::string_view key;
  JsonValue value;
};

/// The range returned by `elements()` and `members()`.
template <typename Item> class JsonValue::Range {
public:
  class iterator {
  public:
    iterator(JsonValue of, size_t i) : of(of), i(i) {}
    Item operator*() const {
      JsonValue value = of[i];
      if constexpr (std::is_same_v<Item, Member>)
        return {value.key(), value};
      else
        return value;
    }
    iterator &operator++() {
      ++i;
      return *this;
    }
    bool operator!=(const iterator &other) const { return i != other.i; }

  private:
    JsonValue of;
    size_t i;
  };
  Range(JsonValue of, size_t count) : of(of), count(count) {}
  iterator begin() const { return {of, 0}; }
  iterator end() const { return {of, count}; }
  size_t size() const { return count; }

private:
  JsonValue of;
  size_t count;
};

inline JsonValue::Range<JsonValue> JsonValue::elements() const {
  return {*this, isArray() ? size() : 0};
}
inline JsonValue::Range<JsonValue::Member> JsonValue::members() const {
  return {*this, isObject() ? size() : 0};
}

/// A parsed document; copies share it. It does not refer to the parsed bytes.
class JsonDocument {
public:
  JsonValue root() const;
  /// The name that errors show.
  const std::string &fileName() const;
  explicit JsonDocument(std::shared_ptr<const detail::JsonStorage> storage);
  /// The same document for JSON that was converted from another file format:
  /// errors are `FILE: 'ORIGIN': text`, with the origin for the value's JSON
  /// pointer or for its nearest ancestor.
  JsonDocument
  withOrigins(const std::map<std::string, std::string> &origins) const;

private:
  std::shared_ptr<const detail::JsonStorage> storage;
};

/// Parses a whole JSON text; errors (`Rejected`) begin with
/// `fileName:LINE:COL:`.
Result<JsonDocument> parseJson(std::string_view bytes,
                               const std::string &fileName);
/// Maps and parses a file; its path is the name in errors.
Result<JsonDocument> parseJsonFile(const std::string &path);

/// Writes JSON into a string, value by value. The caller keeps the order
/// (`key` before each value of an object); it is asserted.
class JsonWriter {
public:
  /// `indent` spaces per level; 0 writes everything in one line.
  explicit JsonWriter(std::string &out, unsigned indent = 0)
      : out(out), indent(indent) {}

  void beginObject() { open('{'); }
  void endObject() { close('}'); }
  void beginArray() { open('['); }
  void endArray() { close(']'); }
  void key(std::string_view name);

  void null();
  void value(bool b);
  void value(int64_t number);
  void value(uint64_t number);
  void value(int number) { value(static_cast<int64_t>(number)); }
  void value(unsigned number) { value(static_cast<uint64_t>(number)); }
  void value(long long number) { value(static_cast<int64_t>(number)); }
  void value(unsigned long long number) {
    value(static_cast<uint64_t>(number));
  }
  /// Writes the shortest decimal string that reads back as the same value;
  /// `null` for NaN and infinities, which JSON cannot represent.
  void value(double number);
  void value(float number);
  /// Escapes characters as JSON requires; invalid UTF-8 becomes U+FFFD.
  void value(std::string_view text);
  void value(const std::string &text) { value(std::string_view(text)); }
  void value(const char *text) { value(std::string_view(text)); }

  /// `key` and `value` in one.
  template <typename T> void member(std::string_view name, const T &v) {
    key(name);
    value(v);
  }
  /// Writes an array.
  template <typename T> void array(const std::vector<T> &values) {
    beginArray();
    for (const T &v : values)
      value(v);
    endArray();
  }

private:
  void open(char bracket);
  void close(char bracket);
  void separate();
  void newLine();
  std::string &out;
  unsigned indent;
  std::vector<bool> hasItems; // one per open bracket
  bool afterKey = false;
};

} // namespace transom
