// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as characters that remember which bytes of the original they stand for,
// and the steps of a normalizer on it. A BertNormalizer or a Sequence is a list
// of such steps.
#pragma once
#include "runtime/tokenizer/Tables.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace transom::tokenizer {

/// A character of normalized text, and the bytes [begin, end) of the original
/// text that it came from.
struct Character {
  char32_t code;
  uint32_t begin;
  uint32_t end;
};

using Characters = std::vector<Character>;

/// The kinds of a normalizer's steps.
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
  MapCharacters,    ///< by the character map of trie `first`, strings
                    ///< `second`; option 1: as SentencePiece does itself, by
                    ///< the `MapArray` `first`
  CollapseSpaces,   ///< runs of spaces to one, none at the ends, and no U+2581
                    ///< at the end
  DecomposeCompatibly, ///< NFKD
  ComposeCompatibly,   ///< NFKC
  CleanControls,       ///< Nmt: drop controls; other spaces to space
  ToBytes,             ///< each byte becomes the character that stands for it
};
/// One more than the last step's number.
inline constexpr uint32_t normalizerStepEnd = 18;

/// True where `first` is a program.
inline bool normalizerHasProgram(Step step) {
  return step.kind == static_cast<uint32_t>(NormalizerStep::Replace);
}

/// The characters of `text`, which is valid UTF-8 of less than 4 GiB.
Characters getCharacters(std::string_view text);

/// Appends the characters that stand for the bytes of `character`.
void appendBytes(const Character &character, Characters &result);

/// Runs `steps` on `text` (others than `NormalizerStep`s do nothing). Time is
/// linear.
void normalize(const StepList &steps, Characters &text);

/// The text of `text` in UTF-8.
std::string toUtf8(const Characters &text);

} // namespace transom::tokenizer
