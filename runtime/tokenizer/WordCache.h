// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words that a BPE model saw last, with their tokens. Frequent words need
// no merging then.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include <array>
#include <cstdint>
#include <vector>

namespace transom::tokenizer {

/// A token of a word, and its first and last character there.
struct WordPart {
  uint32_t id;
  uint32_t first, last;
};

/// A table with one place for each hash of a word: a word takes that of
/// another.
class WordCache {
public:
  /// A word and its tokens.
  struct Entry {
    static constexpr size_t longest = 18; ///< in characters
    static constexpr size_t most = 4;     ///< tokens
    std::array<uint16_t, longest> codes;  ///< 0 beyond the word
    uint8_t length = 0;                   ///< in characters; 0: no word
    uint8_t count = 0;                    ///< of tokens
    std::array<uint32_t, most> ids;
    std::array<uint8_t, most> first, last; ///< characters of each token
  };

  /// The entry of a word of `text`, or null; valid until the next `put`.
  const Entry *find(const Characters &text, Span word);

  /// Puts the tokens of the word that `find` was last asked for, if it is not
  /// too long and they are not too many.
  void put(const std::vector<WordPart> &parts);

private:
  static constexpr size_t placeCount = 8192;

  std::vector<Entry> places; ///< empty before the first word
  Entry asked{};             ///< the word that `find` was asked for
  size_t place = placeCount; ///< its place; `placeCount`: it cannot be put
};

} // namespace transom::tokenizer
