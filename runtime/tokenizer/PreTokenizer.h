// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits normalized text into words. A pre-tokenizer, or a Sequence of these,
// is a list of steps; each step splits the words from the preceding step, and
// some change their characters.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/Splitter.h"

namespace transom::tokenizer {

/// Pre-tokenizer step kinds.
enum class PreTokenizerStep : uint32_t {
  SplitWhitespace = 1, ///< split at whitespace and drop it
  IsolatePunctuation,  ///< each punctuation character is a word by itself
  WordsAndSymbols,     ///< the matches for `\w+|[^\w\s]+`
  Split, ///< by program `first`; option: the `Behavior`; second option 1: swap
         ///< matches and the rest
  PrefixSpace, ///< `first` before a word that does not begin with it; option 1:
               ///< only at the start of the text
  ToBytes,     ///< each byte becomes the character that represents it
  Rewrite,     ///< each match of the program `first` becomes `second`
  CutByLength, ///< into parts with `option` characters
};
/// The last step kind + 1.
inline constexpr uint32_t preTokenizerStepEnd = 9;

/// True if `first` is a program.
inline bool preTokenizerHasProgram(Step step) {
  return step.kind == static_cast<uint32_t>(PreTokenizerStep::Split) ||
         step.kind == static_cast<uint32_t>(PreTokenizerStep::Rewrite);
}

/// Splits `text` into words, in order, none empty; without steps, all of `text`
/// is one word. Steps may change `text`; the spans refer to the changed text.
std::vector<Span> preTokenize(const StepList &steps, Characters &text);

} // namespace transom::tokenizer
