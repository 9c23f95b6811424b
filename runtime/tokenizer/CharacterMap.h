// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The character maps of SentencePiece, which normalize text by replacing short
// sequences, as Hugging Face applies them.
#pragma once
#include "runtime/tokenizer/Normalizer.h"

namespace transom::tokenizer {

/// The double array of the keys of a map, as model files have it. Its states
/// may be shared. A state is the place from which its children are at the
/// distance of their labels, the bytes 1 to 255.
class MapArray {
public:
  static constexpr size_t none = SIZE_MAX;
  /// Where a byte leads.
  struct Child {
    size_t state = none; ///< `none`: there is no such child
    /// Where the value of the key that ends here lies; `none`: no key does.
    size_t value = none;
  };

  explicit MapArray(std::string_view bytes) : units(bytes) {}
  size_t size() const { return units.size(); }
  /// The state where keys begin. The array is not empty.
  size_t getRoot() const { return getOffset(units[0]); }
  /// The child for a byte; `state` may be any number.
  Child getChild(size_t state, uint8_t byte) const {
    const size_t at = state ^ byte;
    if (byte == 0 || at >= units.size() ||
        (units[at] & labelMask) != uint32_t(byte))
      return {};
    const size_t next = at ^ getOffset(units[at]);
    return {next, units[at] & keyBit ? next : none};
  }
  /// The value at a place: where its string begins. `none` outside the array.
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

/// Keys of more bytes are never found by `mapLongest`.
inline constexpr size_t longestMapKey = 64;

/// Keys of more bytes are never found by `mapCharacters`.
inline constexpr size_t longestClusterKey = 5;

/// Replaces in `text` what a map has: each grapheme cluster of at most
/// `longestClusterKey` bytes that begins with a key, else each character that
/// does. `trie` is a trie of keys, with places in `strings`, where the
/// replacement lies and ends with NUL. Time is linear.
void mapCharacters(std::string_view trie, std::string_view strings,
                   Characters &text);

/// The same as SentencePiece does it itself: of the keys that begin at a place,
/// the longest is replaced. `array` is a `MapArray`. Time is bounded by the
/// text times `longestMapKey`.
void mapLongest(std::string_view array, std::string_view strings,
                Characters &text);

} // namespace transom::tokenizer
