// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules GB3 to GB11 of the annex, as a state that is updated by each character
// in a cluster.
#include "runtime/tokenizer/Graphemes.h"
#include <algorithm>

namespace transom::unicode {

GraphemeClass getGraphemeClass(char32_t code) {
  if (code >= 0xAC00 && code <= 0xD7A3)
    return (code - 0xAC00) % 28 == 0 ? GraphemeClass::HangulLV
                                     : GraphemeClass::HangulLVT;
  const GraphemeRange *end = graphemeRanges + graphemeRangeCount;
  const GraphemeRange *range = std::lower_bound(
      graphemeRanges, end, code,
      [](const GraphemeRange &r, char32_t code) { return r.last < code; });
  if (range == end || code < range->first)
    return GraphemeClass::Other;
  return range->kind;
}

} // namespace transom::unicode

namespace transom::tokenizer {

using unicode::GraphemeClass;

namespace {
/// The part of a cluster that has been read.
class Cluster {
public:
  explicit Cluster(GraphemeClass first) { add(first); }

  bool accepts(GraphemeClass next) const {
    if (last == GraphemeClass::Control || next == GraphemeClass::Control)
      return false;
    // Marks join any preceding character.
    switch (next) {
    case GraphemeClass::Extend:
    case GraphemeClass::ExtendConjunct:
    case GraphemeClass::Linker:
    case GraphemeClass::Joiner:
    case GraphemeClass::SpacingMark:
      return true;
    // Hangul letters join by syllable position.
    case GraphemeClass::HangulL:
    case GraphemeClass::HangulLV:
    case GraphemeClass::HangulLVT:
      return last == GraphemeClass::Prepend || last == GraphemeClass::HangulL;
    case GraphemeClass::HangulV:
      return last == GraphemeClass::Prepend || last == GraphemeClass::HangulL ||
             last == GraphemeClass::HangulV || last == GraphemeClass::HangulLV;
    case GraphemeClass::HangulT:
      return last == GraphemeClass::Prepend ||
             (last >= GraphemeClass::HangulV &&
              last <= GraphemeClass::HangulLVT);
    // Others join after a prepended mark, a joiner or a linker.
    default:
      return last == GraphemeClass::Prepend ||
             (next == GraphemeClass::Pictographic && joined) ||
             (next == GraphemeClass::Consonant && linked);
    }
  }

  void add(GraphemeClass next) {
    const bool joiner = next == GraphemeClass::Joiner;
    const bool extend = next == GraphemeClass::Extend ||
                        next == GraphemeClass::ExtendConjunct ||
                        next == GraphemeClass::Linker;
    joined = pictograph && joiner;
    pictograph = next == GraphemeClass::Pictographic || (pictograph && extend);
    const bool inside = extend ? next != GraphemeClass::Extend : joiner;
    linked = consonant && inside && (linked || next == GraphemeClass::Linker);
    consonant = next == GraphemeClass::Consonant || (consonant && inside);
    last = next;
  }

private:
  GraphemeClass last = GraphemeClass::Other;
  bool pictograph = false; ///< a pictograph, and only marks after it
  bool joined = false;     ///< the same, followed by a joiner
  bool consonant = false;  ///< a consonant, and only conjunct marks after it
  bool linked = false;     ///< the same, with a linker
};
} // namespace

size_t getGraphemeEnd(const Characters &text, size_t begin) {
  constexpr char32_t firstMark = 0x300, firstPrepend = 0x600;
  size_t end = begin + 1;
  if (end == text.size())
    return end;
  if (text[begin].code == U'\r' && text[end].code == U'\n')
    return end + 1;
  if (text[begin].code < firstPrepend && text[end].code < firstMark)
    return end;
  Cluster cluster(unicode::getGraphemeClass(text[begin].code));
  for (; end < text.size(); ++end) {
    GraphemeClass next = unicode::getGraphemeClass(text[end].code);
    if (!cluster.accepts(next))
      break;
    cluster.add(next);
  }
  return end;
}

} // namespace transom::tokenizer
