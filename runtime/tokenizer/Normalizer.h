// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text as characters that remember which bytes of the original they stand for,
// and the steps of a normalizer on it. A BertNormalizer or a Sequence is a list
// of such steps.
#pragma once
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

/// One step of a normalizer; the tables hold a byte a step.
enum class NormalizerStep : uint8_t {
  CleanText = 1,    ///< drop controls, U+0000 and U+FFFD; whitespace to space
  SpaceChinese,     ///< a space on both sides of each Chinese character
  Decompose,        ///< NFD
  RemoveNonspacing, ///< drop general category Mn
  RemoveMarks,      ///< drop general category M
  Lowercase,        ///< character by character
};
/// The number behind the last step.
inline constexpr uint8_t normalizerStepEnd = 7;

/// The characters of `text`, which is valid UTF-8 of less than 4 GiB.
Characters charactersOf(std::string_view text);

/// Runs `steps` (bytes that are `NormalizerStep`s; others do nothing) on
/// `text`. Time is linear, but for sorting runs of combining marks.
void normalize(std::string_view steps, Characters &text);

/// The text of `text` in UTF-8.
std::string toUtf8(const Characters &text);

} // namespace transom::tokenizer
