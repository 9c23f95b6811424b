// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan reads on after its last match while a longer one is possible. If it
// has read far without a match, the states on the way are marked, and no later
// scan continues from a marked state (Reps, "Maximal-munch tokenization in
// linear time", 1998); so no pattern takes quadratic time.
#include "runtime/tokenizer/Splitter.h"
#include <algorithm>

namespace transom::tokenizer {

std::optional<Splitter> Splitter::open(std::string_view program) {
  std::optional<Automaton> automaton = Automaton::open(program);
  if (!automaton)
    return std::nullopt;
  Splitter splitter;
  splitter.automaton = std::move(*automaton);
  return splitter;
}

/// Finds the matches in one span.
class Splitter::Scan {
public:
  Scan(const Automaton &automaton, const Characters &text, Span span)
      : automaton(automaton), text(text), span(span) {
    if (automaton.hasPasses())
      columns = automaton.getColumns(text, span);
  }

  std::vector<Cut> run() {
    if (span.begin == span.end)
      return {};
    return automaton.literal() != 0 ? findLiteral() : findAll();
  }

private:
  std::vector<Cut> findLiteral() {
    const char32_t literal = automaton.literal();
    size_t taken = span.begin;
    for (size_t at = span.begin; at < span.end; ++at) {
      if (text[at].code != literal)
        continue;
      if (taken < at)
        cuts.push_back({{taken, at}, false});
      cuts.push_back({{at, at + 1}, true});
      taken = at + 1;
    }
    if (taken < span.end)
      cuts.push_back({{taken, span.end}, false});
    return std::move(cuts);
  }

  std::vector<Cut> findAll() {
    size_t taken = span.begin; // also the end of the last match
    bool hasMatch = false;
    for (size_t at = span.begin; at <= span.end;) {
      const size_t end = longest(at);
      if (end == none || (end == at && hasMatch && at == taken)) {
        ++at;
        continue;
      }
      if (taken < at)
        cuts.push_back({{taken, at}, false});
      cuts.push_back({{at, end}, true});
      at = end == at ? at + 1 : end;
      taken = end;
      hasMatch = true;
    }
    if (taken < span.end)
      cuts.push_back({{taken, span.end}, false});
    return std::move(cuts);
  }

  /// Marking begins after this many characters without a match.
  static constexpr size_t patience = 32;
  static constexpr size_t none = SIZE_MAX;

  uint32_t columnAt(size_t at) const {
    if (!columns.empty())
      return columns[at - span.begin];
    return at < span.end ? automaton.getClass(text[at].code)
                         : automaton.endClass();
  }

  /// Returns the end of the match that starts at `begin`, or `none`.
  size_t longest(size_t begin) {
    uint32_t state = 1, matchState = 1;
    size_t end = begin, at = begin;
    bool hasMatch = false;
    for (;; ++at) {
      uint16_t next = automaton.transition(state, columnAt(at));
      if (next & matchBit) {
        end = at;
        matchState = state;
        hasMatch = true;
      } else if (at > end && isMarked(state, at)) {
        break;
      }
      state = next & ~matchBit;
      if (state == 0 || at == span.end)
        break;
    }
    // Let later scans stop where this one read in vain.
    if (at - end > patience)
      mark(matchState, end, at);
    return hasMatch ? end : none;
  }

  /// Marks the states after `state` at `from`, up to position `to`: none leads
  /// to a match.
  void mark(uint32_t state, size_t from, size_t to) {
    if (marks.empty())
      marks.resize((automaton.states() * (span.end - span.begin + 1) + 63) /
                   64);
    for (size_t at = from; at < to; ++at) {
      state = automaton.transition(state, columnAt(at)) & ~matchBit;
      size_t bit = getBit(state, at + 1);
      marks[bit / 64] |= uint64_t(1) << bit % 64;
    }
  }

  bool isMarked(uint32_t state, size_t at) const {
    if (marks.empty())
      return false;
    size_t bit = getBit(state, at);
    return marks[bit / 64] >> bit % 64 & 1;
  }

  size_t getBit(uint32_t state, size_t at) const {
    return (at - span.begin) * automaton.states() + state;
  }

  const Automaton &automaton;
  const Characters &text;
  Span span;
  std::vector<uint16_t> columns; ///< by position, if there are passes
  std::vector<Cut> cuts;
  std::vector<uint64_t> marks;
};

std::vector<Cut> Splitter::find(const Characters &text, Span span) const {
  return Scan(automaton, text, span).run();
}

void Splitter::replace(const Characters &text, Span span,
                       const Characters &content, Characters &result) const {
  for (const Cut &cut : find(text, span)) {
    if (!cut.match) {
      result.insert(result.end(), text.begin() + cut.span.begin,
                    text.begin() + cut.span.end);
      continue;
    }
    const Character last =
        cut.span.end > 0 ? text[cut.span.end - 1] : Character{0, 0, 0};
    for (const Character &character : content)
      result.push_back({character.code, last.begin, last.end});
  }
}

/// Joins each match to the text before it or, if `next`, after it.
static std::vector<Cut> merged(const std::vector<Cut> &cuts, bool next) {
  std::vector<Cut> result;
  bool previousMatch = false;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const Cut &cut = next ? cuts[cuts.size() - 1 - i] : cuts[i];
    if (cut.match && !previousMatch && !result.empty()) {
      if (next)
        result.back().span.begin = cut.span.begin;
      else
        result.back().span.end = cut.span.end;
    } else {
      result.push_back({cut.span, false});
    }
    previousMatch = cut.match;
  }
  if (next)
    std::reverse(result.begin(), result.end());
  return result;
}

static std::vector<Cut> contiguous(const std::vector<Cut> &cuts) {
  std::vector<Cut> result;
  for (const Cut &cut : cuts) {
    if (!result.empty() && result.back().match == cut.match)
      result.back().span.end = cut.span.end;
    else
      result.push_back(cut);
  }
  return result;
}

void applyBehavior(Behavior behavior, bool invert, std::vector<Cut> cuts,
                   std::vector<Span> &words) {
  if (invert)
    for (Cut &cut : cuts)
      cut.match = !cut.match;
  if (behavior == Behavior::MergedWithPrevious ||
      behavior == Behavior::MergedWithNext)
    cuts = merged(cuts, behavior == Behavior::MergedWithNext);
  else if (behavior == Behavior::Contiguous)
    cuts = contiguous(cuts);
  for (const Cut &cut : cuts)
    if (!(behavior == Behavior::Removed && cut.match))
      words.push_back(cut.span);
}

} // namespace transom::tokenizer
