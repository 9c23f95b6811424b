// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cutting normalized text into words. A pre-tokenizer, or a Sequence of them,
// is a list of steps; each step cuts the words of the one before it, and some
// change their characters.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/Splitter.h"

namespace transom::tokenizer {

/// The kinds of a pre-tokenizer's steps.
enum class PreTokenizerStep : uint32_t {
  SplitWhitespace = 1, ///< cut at whitespace and drop it
  IsolatePunctuation,  ///< each punctuation character a word of its own
  WordsAndSymbols,     ///< the matches of `\w+|[^\w\s]+`
  Split,               ///< by the program `first`; option is the `Behavior`,
                       ///< second option 1 takes what does not match
  PrefixSpace,         ///< `first` before a word that does not begin with it;
                       ///< option 1: only at the start of the text
  ToBytes,             ///< each byte becomes the character that stands for it
  Rewrite,             ///< each match of the program `first` becomes `second`
  CutByLength,         ///< into parts of `option` characters
};
/// One more than the last step's number.
inline constexpr uint32_t preTokenizerStepEnd = 9;

/// True where `first` is a program.
inline bool preTokenizerHasProgram(Step step) {
  return step.kind == static_cast<uint32_t>(PreTokenizerStep::Split) ||
         step.kind == static_cast<uint32_t>(PreTokenizerStep::Rewrite);
}

/// Cuts all of `text` into words, in order, none empty; with no steps `text`
/// itself. Steps may change `text`, and the words are those of the new one.
std::vector<Span> preTokenize(const StepList &steps, Characters &text);

} // namespace transom::tokenizer
