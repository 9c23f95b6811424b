// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regular expression matching on characters. The importer compiles an
// expression to deterministic automata (a program). A transition depends on the
// next character and on the answers of passes over the text, so conditions cost
// no states. Among all matches that start at the leftmost position, the one
// that backtracking would find first is chosen.
#pragma once
#include "runtime/tokenizer/Automaton.h"

namespace transom::tokenizer {

/// Action for matches when a pattern splits a text.
enum class Behavior : uint32_t {
  Removed = 1,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};

/// A part of a text: a match, which may be empty, or the text between two
/// matches.
struct Cut {
  Span span;
  bool match;
};

/// Searches text with a program.
class Splitter {
public:
  /// Returns nullopt if the bytes are not a program.
  static std::optional<Splitter> open(std::string_view program);

  /// Splits `span` into cuts, in order, without gaps; the pattern sees no text
  /// outside the span. No empty match directly follows another match. Takes
  /// linear time in the span length for every pattern.
  std::vector<Cut> find(const Characters &text, Span span) const;

  /// Appends `span` to `result`, with each match replaced by the codes in
  /// `content`; these represent the bytes of the last character before the
  /// match's end.
  void replace(const Characters &text, Span span, const Characters &content,
               Characters &result) const;

private:
  class Scan;
  Automaton automaton;
};

/// Appends the spans that remain after `behavior` is applied; `invert` swaps
/// matches and the rest. Empty cuts give empty spans.
void applyBehavior(Behavior behavior, bool invert, std::vector<Cut> cuts,
                   std::vector<Span> &words);

} // namespace transom::tokenizer
