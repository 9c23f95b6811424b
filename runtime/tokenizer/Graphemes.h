// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Extended grapheme clusters (Unicode Standard Annex #29), as the PyPI package
// tokenizers has them where it applies a character map.
#pragma once
#include "runtime/tokenizer/Normalizer.h"

namespace transom::unicode {

/// What decides whether a character joins its neighbours. Regional indicators
/// are missing: no cluster with one is short enough to be replaced as a whole.
enum class GraphemeClass : uint8_t {
  Other,
  Control,
  Extend,
  ExtendConjunct, ///< also inside a conjunct
  Linker,         ///< also joins the consonants of a conjunct
  Joiner,         ///< U+200D
  SpacingMark,
  Prepend,
  Consonant, ///< of conjuncts
  Pictographic,
  HangulL,
  HangulV,
  HangulT,
  HangulLV,
  HangulLVT,
};

/// The code points from `first` to `last`.
struct GraphemeRange {
  uint32_t first, last;
  GraphemeClass kind;
};

/// Sorted; what is in none is `Other` or a Hangul syllable.
extern const GraphemeRange graphemeRanges[];
extern const size_t graphemeRangeCount;

GraphemeClass getGraphemeClass(char32_t code);

} // namespace transom::unicode

namespace transom::tokenizer {

/// The end of the cluster that starts with the character `begin` of `text`.
size_t getGraphemeEnd(const Characters &text, size_t begin);

} // namespace transom::tokenizer
