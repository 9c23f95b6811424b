// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as characters with their byte ranges in the original text, and
// normalizer steps on it. A BertNormalizer or a Sequence is a list of such
// steps.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom::tokenizer {

/// A character in normalized text, and the bytes [begin, end) of the original
/// text that it represents.
struct Character {
  char32_t code;
  uint32_t begin;
  uint32_t end;
};

using Characters = std::vector<Character>;

/// Normalizer step kinds.
enum class NormalizerStep : uint32_t {
  CleanText = 1,    ///< drop controls, U+0000 and U+FFFD; whitespace to space
  SpaceChinese,     ///< a space on both sides of each Chinese character
  Decompose,        ///< NFD
  RemoveNonspacing, ///< drop general category Mn
  RemoveMarks,      ///< drop general category M
  Lowercase,        ///< character by character
  Compose,          ///< NFC
  Prepend,          ///< `first` before a text that is not empty
  Replace,          ///< each match of the program `first` becomes `second`
  StripLeft,        ///< drop whitespace at the start
  StripRight,       ///< drop whitespace at the end
  MapCharacters,  ///< by character map: trie `first`, strings `second`; option
                  ///< 1: with SentencePiece's own rule, by `MapArray` `first`
  CollapseSpaces, ///< runs of spaces to one, none at the ends, no U+2581 at the
                  ///< end
  DecomposeCompatibly, ///< NFKD
  ComposeCompatibly,   ///< NFKC
  CleanControls,       ///< Nmt: drop controls; other spaces to space
  ToBytes,             ///< each byte becomes the character that represents it
};
/// The last step kind + 1.
inline constexpr uint32_t normalizerStepEnd = 18;

/// True if `first` is a program.
inline bool normalizerHasProgram(Step step) {
  return step.kind == static_cast<uint32_t>(NormalizerStep::Replace);
}

/// Decodes `text`, which must be valid UTF-8 below 4 GiB.
Characters getCharacters(std::string_view text);

/// Appends the characters that represent the UTF-8 bytes in `character`.
void appendBytes(const Character &character, Characters &result);

/// Runs `steps` on `text` (kinds outside `NormalizerStep` do nothing). Takes
/// linear time.
void normalize(const StepList &steps, Characters &text);

/// Encodes `text` as UTF-8.
std::string toUtf8(const Characters &text);

} // namespace transom::tokenizer
