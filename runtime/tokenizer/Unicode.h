// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character properties, canonical decomposition and lower case, as the PyPI
// package tokenizers has them.
#pragma once
#include "runtime/tokenizer/UnicodeData.h"

namespace transom::unicode {

/// The record of `code`; beyond U+10FFFF that of U+10FFFF.
const Record &getRecord(char32_t code);

inline bool has(char32_t code, Flag flag) {
  return getRecord(code).flags & flag;
}
inline bool isWhitespace(char32_t code) { return has(code, Whitespace); }
inline bool isPunctuation(char32_t code) { return has(code, Punctuation); }
inline bool isWord(char32_t code) { return has(code, Word); }

/// In the CJK blocks that BERT sets apart with spaces.
bool isChinese(char32_t code);

/// The image of one character: at most four characters.
struct Image {
  char32_t codes[4];
  unsigned size;
};

/// The full canonical decomposition of `code`, not reordered.
Image decompose(char32_t code);

/// The full compatibility decomposition of a character.
struct LongImage {
  const char32_t *codes;
  unsigned size;
};

/// That of `code` where it is not the canonical one, else nothing (size 0).
LongImage decomposeCompatibly(char32_t code);

/// The character that canonical composition makes of two, or 0.
char32_t compose(char32_t first, char32_t second);

/// The lower case of `code` alone, without regard to its neighbours.
Image lowercase(char32_t code);

} // namespace transom::unicode
