// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generated tables of character properties: a two-stage table from code point
// to record, and the few characters whose image has another length.
#pragma once
#include <cstddef>
#include <cstdint>

namespace transom::unicode {

/// Code point properties; most code points share one record.
struct Record {
  uint8_t flags;          ///< `Flag`s
  uint8_t combiningClass; ///< for canonical ordering, 0: base character
  int32_t lowerDelta;     ///< lowercase form of c is c + lowerDelta
};

/// Bits in `Record::flags`.
enum Flag : uint8_t {
  Whitespace = 1,     ///< Rust's `char::is_whitespace`
  Punctuation = 2,    ///< ASCII punctuation or general category P
  Removed = 4,        ///< dropped by BERT's clean_text
  Nonspacing = 8,     ///< general category Mn
  Mark = 16,          ///< general category M
  Word = 32,          ///< `\w` in the regex crate
  Decomposes = 64,    ///< has a canonical decomposition
  LowerExpands = 128, ///< lowercase form is in `lowerExpansions`
};

/// A character whose image is `length` characters at `offset` in a pool.
struct Expansion {
  uint32_t code;
  uint16_t offset;
  uint16_t length;
};

/// A pair of characters that canonical composition joins.
struct Composition {
  char32_t first, second, composed;
};

extern const unsigned blockShift;
extern const uint16_t blocks[];
extern const uint8_t recordNumbers[];
extern const Record records[];
extern const size_t decompositionCount;
extern const Expansion decompositions[]; ///< sorted by code, without Hangul
extern const char32_t decomposed[];
extern const size_t compatibilityCount;
extern const Expansion compatibilities[]; ///< sorted by code; noncanonical ones
extern const char32_t compatible[];
extern const size_t compositionCount;
extern const Composition compositions[]; ///< sorted, without Hangul
extern const size_t lowerExpansionCount;
extern const Expansion lowerExpansions[]; ///< sorted by code
extern const char32_t lowered[];

} // namespace transom::unicode
