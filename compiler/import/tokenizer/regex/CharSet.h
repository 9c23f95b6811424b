// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of code points, and those that regular expressions name: categories,
// classes and scripts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace transom::tokenizer {

/// Runs of equal properties (generated): first code point << 11 | properties.
/// Bits 0-4 of the properties are the number of the general category, 5 `\s`,
/// 6 `\w`, 7 Rust's `char::is_numeric`, 8-10 Han, Hiragana, Katakana.
extern const uint32_t propertyRuns[];
extern const size_t propertyRunCount;

/// A set of code points, as sorted ranges that do not touch.
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
  /// The code points of [begin, end).
  CharSet(uint32_t begin, uint32_t end) : list{{begin, end}} {}
  /// The code points of ranges in any order.
  explicit CharSet(std::vector<Range> ranges) : list(std::move(ranges)) {
    normalize();
  }
  static CharSet all() { return CharSet(0, limit); }
  static CharSet whitespace() { return ofBits(1u << 5); }
  static CharSet word() { return ofBits(1u << 6); }
  static CharSet numeric() { return ofBits(1u << 7); }
  /// ASCII punctuation and category P as the runtime has them.
  static CharSet punctuation();
  /// The characters of `\p{name}` (a category, script, block or property) or
  /// of a class `[:name:]`; nothing for an unknown name.
  static std::optional<CharSet> named(std::string_view name);

  void add(const CharSet &other);
  CharSet complement() const;
  CharSet without(const CharSet &other) const;
  bool contains(uint32_t code) const;
  bool empty() const { return list.empty(); }
  const std::vector<Range> &ranges() const { return list; }
  bool operator<(const CharSet &other) const { return list < other.list; }

  /// Adds the characters that match one of it if case is ignored.
  void ignoreCase();

private:
  static CharSet ofBits(uint32_t anyOf);
  template <typename Predicate> static CharSet ofRuns(Predicate matches);
  void normalize();
  std::vector<Range> list;
};

} // namespace transom::tokenizer
