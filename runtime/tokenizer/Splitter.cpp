// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scan reads on after the last match that it knows as long as a longer one
// is possible. Where it has read far in vain, the states it went through are
// marked, and no later scan reads on from one of them (Reps, "Maximal-munch
// tokenization in linear time", 1998); so no pattern takes quadratic time.
#include "runtime/tokenizer/Splitter.h"
#include <algorithm>

namespace transom::tokenizer {

std::optional<Splitter> Splitter::open(std::string_view program) {
  Splitter splitter;
  ProgramHeader &header = splitter.header;
  if (program.size() < sizeof header)
    return std::nullopt;
  std::memcpy(&header, program.data(), sizeof header);
  if (header.states < 2 || header.states > stateLimit || header.classes == 0 ||
      header.classes > 256 || header.blocks == 0 || header.blocks > 0x10000 ||
      header.numberBlocks == 0 || header.numberBlocks > 0x10000)
    return std::nullopt;
  size_t transitionBytes = size_t(header.states) * (header.classes + 1) * 2;
  size_t blockBytes = size_t(header.blocks) * 2;
  size_t numberBytes = size_t(header.numberBlocks) << classShift;
  if (program.size() !=
      sizeof header + transitionBytes + blockBytes + numberBytes)
    return std::nullopt;
  program.remove_prefix(sizeof header);
  splitter.transitions =
      ArrayView<uint16_t>(program.substr(0, transitionBytes));
  splitter.blocks =
      ArrayView<uint16_t>(program.substr(transitionBytes, blockBytes));
  splitter.numbers =
      ArrayView<uint8_t>(program.substr(transitionBytes + blockBytes));
  return splitter;
}

uint32_t Splitter::getClass(char32_t code) const {
  size_t block = code >> classShift, low = code & ((1u << classShift) - 1);
  if (block >= header.blocks) {
    block = header.blocks - 1;
    low = (1u << classShift) - 1;
  }
  size_t index = (size_t(blocks[block]) << classShift) + low;
  uint32_t number = index < numbers.size() ? numbers[index] : 0;
  return std::min(number, header.classes - 1);
}

uint16_t Splitter::transition(uint32_t state, uint32_t label) const {
  uint16_t next = transitions[size_t(state) * (header.classes + 1) + label];
  return (next & ~matchBit) < header.states ? next : 0;
}

/// The search for matches in one span.
class Splitter::Scan {
public:
  Scan(const Splitter &splitter, const Characters &text, Span span)
      : splitter(splitter), text(text), span(span) {}

  std::vector<Cut> run() {
    return splitter.header.literal != 0 ? findLiteral() : findAll();
  }

private:
  std::vector<Cut> findLiteral() {
    const char32_t literal = splitter.header.literal;
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
    size_t taken = span.begin;
    for (size_t at = span.begin; at < span.end;) {
      size_t end = longest(at);
      if (end == at) {
        ++at;
        continue;
      }
      if (taken < at)
        cuts.push_back({{taken, at}, false});
      cuts.push_back({{at, end}, true});
      at = taken = end;
    }
    if (taken < span.end)
      cuts.push_back({{taken, span.end}, false});
    return std::move(cuts);
  }

  /// Marking begins where so many characters were read in vain.
  static constexpr size_t patience = 32;

  uint32_t labelAt(size_t at) const {
    return at < span.end ? splitter.getClass(text[at].code)
                         : splitter.header.classes;
  }

  /// The end of the match that starts at `begin`, or `begin`.
  size_t longest(size_t begin) {
    uint32_t state = 1, matchState = 1;
    size_t end = begin, at = begin;
    for (;; ++at) {
      uint16_t next = splitter.transition(state, labelAt(at));
      if (next & matchBit) {
        end = at;
        matchState = state;
      } else if (at > end && isMarked(state, at)) {
        break;
      }
      state = next & ~matchBit;
      if (state == 0 || at == span.end)
        break;
    }
    if (at - end > patience)
      mark(matchState, end, at);
    return end;
  }

  /// Marks the states after `state` at `from`, up to the place `to`: none of
  /// them leads to a match.
  void mark(uint32_t state, size_t from, size_t to) {
    if (marks.empty())
      marks.resize((splitter.header.states * (span.end - span.begin + 1) + 63) /
                   64);
    for (size_t at = from; at < to; ++at) {
      state = splitter.transition(state, labelAt(at)) & ~matchBit;
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
    return (at - span.begin) * splitter.header.states + state;
  }

  const Splitter &splitter;
  const Characters &text;
  Span span;
  std::vector<Cut> cuts;
  std::vector<uint64_t> marks;
};

std::vector<Cut> Splitter::find(const Characters &text, Span span) const {
  return Scan(*this, text, span).run();
}

void Splitter::replace(const Characters &text, Span span,
                       const Characters &content, Characters &result) const {
  for (const Cut &cut : find(text, span)) {
    if (!cut.match) {
      result.insert(result.end(), text.begin() + cut.span.begin,
                    text.begin() + cut.span.end);
      continue;
    }
    const Character &last = text[cut.span.end - 1];
    for (const Character &character : content)
      result.push_back({character.code, last.begin, last.end});
  }
}

/// Matches join the text before them or, seen from the end, after them.
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
