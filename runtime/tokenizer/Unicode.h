// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character properties, canonical decomposition and lowercase mappings, as
// implemented by the PyPI package tokenizers.
#pragma once
#include "runtime/tokenizer/UnicodeData.h"

namespace transom::unicode {

/// Returns the record for `code`; code points beyond U+10FFFF share its record.
const Record &getRecord(char32_t code);

inline bool has(char32_t code, Flag flag) {
  return getRecord(code).flags & flag;
}
inline bool isWhitespace(char32_t code) { return has(code, Whitespace); }
inline bool isPunctuation(char32_t code) { return has(code, Punctuation); }
inline bool isWord(char32_t code) { return has(code, Word); }

/// True in the CJK blocks that BERT surrounds with spaces.
bool isChinese(char32_t code);

/// A character's image: at most four characters.
struct Image {
  char32_t codes[4];
  unsigned size;
};

/// Returns the full canonical decomposition, not reordered.
Image decompose(char32_t code);

/// A character's full compatibility decomposition.
struct LongImage {
  const char32_t *codes;
  unsigned size;
};

/// Returns the decomposition of `code` if it differs from the canonical one,
/// otherwise size 0.
LongImage decomposeCompatibly(char32_t code);

/// Returns the canonical composition of two characters, or 0.
char32_t compose(char32_t first, char32_t second);

/// Returns the lowercase form of `code` without regard to its neighbors.
Image lowercase(char32_t code);

} // namespace transom::unicode
