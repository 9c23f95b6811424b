// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SentencePiece character maps, which normalize text by replacing short
// sequences, with Hugging Face's rules.
#pragma once
#include "runtime/tokenizer/Normalizer.h"

namespace transom::tokenizer {

/// The double array that holds the keys, as stored in model files. Its states
/// may be shared. Each state is a base index: the child for label b (a byte
/// from 1 to 255) has index state ^ b.
class MapArray {
public:
  static constexpr size_t none = SIZE_MAX;
  /// Result of following a byte.
  struct Child {
    size_t state = none; ///< `none`: no such child
    /// Index with the value, if a key ends here; otherwise `none`.
    size_t value = none;
  };

  explicit MapArray(std::string_view bytes) : units(bytes) {}
  size_t size() const { return units.size(); }
  /// The state where keys begin. The array must not be empty.
  size_t getRoot() const { return getOffset(units[0]); }
  /// Returns the child for a byte; `state` may be any integer.
  Child getChild(size_t state, uint8_t byte) const {
    const size_t at = state ^ byte;
    if (byte == 0 || at >= units.size() ||
        (units[at] & labelMask) != uint32_t(byte))
      return {};
    const size_t next = at ^ getOffset(units[at]);
    return {next, units[at] & keyBit ? next : none};
  }
  /// Returns the value at an index: the start offset in the strings. `none`
  /// outside the array.
  size_t getValue(size_t place) const {
    return place < units.size() ? units[place] & ~valueBit : none;
  }

private:
  static constexpr uint32_t keyBit = 1u << 8, valueBit = 1u << 31,
                            labelMask = valueBit | 0xFF;
  static size_t getOffset(uint32_t unit) {
    return size_t(unit >> 10) << ((unit & (1u << 9)) >> 6);
  }

  ArrayView<uint32_t> units;
};

/// Keys with more bytes are never found by `mapLongest`.
inline constexpr size_t longestMapKey = 64;

/// Keys with more bytes are never found by `mapCharacters`.
inline constexpr size_t longestClusterKey = 5;

/// Replaces mapped characters in `text`: each grapheme cluster with at most
/// `longestClusterKey` bytes that begins with a key, otherwise each single
/// character that does. `trie` maps keys to offsets in `strings`, where the
/// replacement is stored, terminated by NUL. Takes linear time.
void mapCharacters(std::string_view trie, std::string_view strings,
                   Characters &text);

/// Does the same in the same way as SentencePiece itself: replaces the longest
/// key at each position. `array` is a `MapArray`. Time is bounded by the text
/// length times `longestMapKey`.
void mapLongest(std::string_view array, std::string_view strings,
                Characters &text);

} // namespace transom::tokenizer
