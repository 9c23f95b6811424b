// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extended grapheme clusters (Unicode Standard Annex #29), as implemented by
// the PyPI package tokenizers for its character maps.
#pragma once
#include "runtime/tokenizer/Normalizer.h"

namespace transom::unicode {

/// Property that determines whether a character joins its neighbors. Regional
/// indicators are missing: no cluster with one is short enough to be replaced
/// as a whole.
enum class GraphemeClass : uint8_t {
  Other,
  Control,
  Extend,
  ExtendConjunct, ///< also inside a conjunct
  Linker,         ///< also joins consonants in a conjunct
  Joiner,         ///< U+200D
  SpacingMark,
  Prepend,
  Consonant, ///< in conjuncts
  Pictographic,
  HangulL,
  HangulV,
  HangulT,
  HangulLV,
  HangulLVT,
};

/// Code points from `first` to `last`.
struct GraphemeRange {
  uint32_t first, last;
  GraphemeClass kind;
};

/// Sorted; other code points are `Other` or Hangul syllables.
extern const GraphemeRange graphemeRanges[];
extern const size_t graphemeRangeCount;

GraphemeClass getGraphemeClass(char32_t code);

} // namespace transom::unicode

namespace transom::tokenizer {

/// Returns the end of the cluster that starts at character `begin` of `text`.
size_t getGraphemeEnd(const Characters &text, size_t begin);

} // namespace transom::tokenizer
