// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matching a regular expression on characters. The importer compiles it to a
// deterministic automaton (a program) whose transitions know the character that
// comes next, so a look at it costs nothing. Of all matches that start at the
// leftmost place, the one that backtracking would find first is taken.
#pragma once
#include "runtime/tokenizer/Normalizer.h"
#include "runtime/tokenizer/Tables.h"
#include <optional>

namespace transom::tokenizer {

/// Header of a program, followed by (u16) transitions [states][classes + 1] and
/// class blocks [blocks], then (u8) class numbers [numberBlocks][128]. A code
/// point's class is found by its block; beyond the last one it is that of the
/// last code point there. The last class of a state is the text's end.
struct ProgramHeader {
  uint32_t states; ///< 0: no match any more; 1: the start
  uint32_t classes;
  uint32_t blocks;
  uint32_t numberBlocks;
  uint32_t literal; ///< the character that is the only match, or 0
};
/// Bit of a transition: a match ends before the character.
inline constexpr uint16_t matchBit = 0x8000;
/// States of a program are below this.
inline constexpr uint32_t stateLimit = matchBit;
inline constexpr unsigned classShift = 7;

/// The characters [begin, end) of a text.
struct Span {
  size_t begin;
  size_t end;
};

/// What happens to the matches of a pattern that cuts a text.
enum class Behavior : uint32_t {
  Removed = 1,
  Isolated,
  MergedWithPrevious,
  MergedWithNext,
  Contiguous,
};

/// A part of a text: a match of the pattern or what lies between matches.
struct Cut {
  Span span;
  bool match;
};

/// A view of a program.
class Splitter {
public:
  /// Nothing for bytes that are no program.
  static std::optional<Splitter> open(std::string_view program);

  /// The cuts of `span`, in order, without gaps. Time is linear in the
  /// span's length, whatever the pattern.
  std::vector<Cut> find(const Characters &text, Span span) const;

  /// Appends `span` to `result`, each match replaced by the codes of `content`;
  /// they stand for the bytes of the match's last character.
  void replace(const Characters &text, Span span, const Characters &content,
               Characters &result) const;

private:
  class Scan;
  uint32_t getClass(char32_t code) const;
  uint16_t transition(uint32_t state, uint32_t label) const;

  ProgramHeader header{};
  ArrayView<uint16_t> transitions, blocks;
  ArrayView<uint8_t> numbers;
};

/// The spans that remain of `cuts`, none empty; `invert` makes matches of
/// the rest.
void applyBehavior(Behavior behavior, bool invert, std::vector<Cut> cuts,
                   std::vector<Span> &words);

} // namespace transom::tokenizer
