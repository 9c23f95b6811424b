// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cutting normalized text into words. A pre-tokenizer, or a Sequence of them,
// is a list of steps; each step cuts the words of the one before it.
#pragma once
#include "runtime/tokenizer/Normalizer.h"

namespace transom::tokenizer {

/// One step of a pre-tokenizer; the tables hold a byte a step.
enum class PreTokenizerStep : uint8_t {
  SplitWhitespace = 1, ///< cut at whitespace and drop it
  IsolatePunctuation,  ///< each punctuation character a word of its own
  WordsAndSymbols,     ///< the matches of `\w+|[^\w\s]+`
};
/// The number behind the last step.
inline constexpr uint8_t preTokenizerStepEnd = 4;

/// The characters [begin, end) of a text.
struct Span {
  size_t begin;
  size_t end;
};

/// The words of `span` of `text`, in order, none empty; with no steps the
/// span itself.
std::vector<Span> preTokenize(std::string_view steps, const Characters &text,
                              Span span);

} // namespace transom::tokenizer
