// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code point sets, including the named ones in regular expressions: categories,
// classes and scripts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace transom::tokenizer {

/// Runs with equal properties (generated): first code point << 11 | properties.
/// Property bits 0-4 are the general category, 5 `\s`, 6 `\w`, 7 Rust's
/// `char::is_numeric`, 8-10 Han, Hiragana, Katakana.
extern const uint32_t propertyRuns[];
extern const size_t propertyRunCount;

/// A code point set, as sorted ranges that do not touch.
class CharSet {
public:
  struct Range {
    uint32_t begin, end; ///< [begin, end)
    bool operator<(const Range &other) const {
      return begin != other.begin ? begin < other.begin : end < other.end;
    }
    bool operator==(const Range &other) const {
      return begin == other.begin && end == other.end;
    }
  };
  static constexpr uint32_t limit = 0x110000;

  CharSet() = default;
  /// The code points [begin, end).
  CharSet(uint32_t begin, uint32_t end) : list{{begin, end}} {}
  /// Code points in ranges, which may be unordered.
  explicit CharSet(std::vector<Range> ranges) : list(std::move(ranges)) {
    normalize();
  }
  static CharSet all() { return CharSet(0, limit); }
  static CharSet whitespace() { return ofBits(1u << 5); }
  static CharSet word() { return ofBits(1u << 6); }
  static CharSet numeric() { return ofBits(1u << 7); }
  /// ASCII punctuation and category P, as in the runtime.
  static CharSet punctuation();
  /// Returns the characters for `\p{name}` (a category, script, block or
  /// property) or a class `[:name:]`; nullopt for an unknown name.
  static std::optional<CharSet> named(std::string_view name);

  void add(const CharSet &other);
  CharSet complement() const;
  CharSet without(const CharSet &other) const;
  bool contains(uint32_t code) const;
  bool empty() const { return list.empty(); }
  const std::vector<Range> &ranges() const { return list; }
  bool operator<(const CharSet &other) const { return list < other.list; }

  /// Adds the characters that match a member if case is ignored.
  void ignoreCase();

private:
  static CharSet ofBits(uint32_t anyOf);
  template <typename Predicate> static CharSet ofRuns(Predicate matches);
  void normalize();
  std::vector<Range> list;
};

} // namespace transom::tokenizer
