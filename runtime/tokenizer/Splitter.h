// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching a regular expression on characters. The importer compiles it to
// deterministic automata (a program). A transition depends on the next
// character and on the answers of passes over the text, so conditions cost no
// states. Of all matches that start at the leftmost place, the one that
// backtracking would find first is taken.
#pragma once
#include "runtime/tokenizer/Automaton.h"

namespace transom::tokenizer {

/// What happens to the matches of a pattern that cuts a text.
enum class Behavior : uint32_t {
  Removed = 1,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};

/// A part of a text: a match of the pattern, which may be empty, or what lies
/// between matches.
struct Cut {
  Span span;
  bool match;
};

/// A search by a program.
class Splitter {
public:
  /// Nothing for bytes that are no program.
  static std::optional<Splitter> open(std::string_view program);

  /// The cuts of `span`, in order, without gaps; the pattern sees no text
  /// outside of it. No match is empty right after another one. Time is linear
  /// in the span's length, whatever the pattern.
  std::vector<Cut> find(const Characters &text, Span span) const;

  /// Appends `span` to `result`, each match replaced by the codes of `content`;
  /// they stand for the bytes of the last character up to the match's end.
  void replace(const Characters &text, Span span, const Characters &content,
               Characters &result) const;

private:
  class Scan;
  Automaton automaton;
};

/// The spans that remain of `cuts`, none empty; `invert` makes matches of
/// the rest.
void applyBehavior(Behavior behavior, bool invert, std::vector<Cut> cuts,
                   std::vector<Span> &words);

} // namespace transom::tokenizer
