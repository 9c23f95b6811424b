// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caches recent words of a BPE model with their tokens, so frequent words need
// no merging.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include <array>
#include <cstdint>
#include <vector>

namespace transom::tokenizer {

/// A token in a word, with its first and last character there.
struct WordPart {
  uint32_t id;
  uint32_t first, last;
};

/// A hash table with one slot per hash; a new word replaces the old one in its
/// slot.
class WordCache {
public:
  /// A word and its tokens.
  struct Entry {
    static constexpr size_t longest = 18; ///< in characters
    static constexpr size_t most = 4;     ///< tokens
    std::array<uint16_t, longest> codes;  ///< 0 after the word
    uint8_t length = 0;                   ///< in characters; 0: no word
    uint8_t count = 0;                    ///< token count
    std::array<uint32_t, most> ids;
    std::array<uint8_t, most> first, last; ///< character indices for each token
  };

  /// Returns the entry for a word in `text`, or null; valid until the next
  /// `put`.
  const Entry *find(const Characters &text, Span word);

  /// Stores the tokens for the word in the last call to `find`, unless the word
  /// or the token list is too long.
  void put(const std::vector<WordPart> &parts);

private:
  static constexpr size_t placeCount = 8192;

  std::vector<Entry> places; ///< empty before the first word
  Entry asked{};             ///< word in the last call to `find`
  size_t place = placeCount; ///< its slot; `placeCount`: not cacheable
};

} // namespace transom::tokenizer
