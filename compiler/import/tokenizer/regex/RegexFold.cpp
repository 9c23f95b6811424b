// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Case-insensitive characters. Oniguruma also lets a string match a single
// character that folds to it, and the reverse: "ss" and U+DF.
#include "compiler/import/tokenizer/regex/RegexParser.h"
#include "compiler/import/tokenizer/regex/RegexTables.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

namespace transom::tokenizer {

using Kind = RegexNode::Kind;
using Codes = std::vector<char32_t>;
using Sets = std::vector<CharSet>;

static CharSet foldedSet(char32_t code) {
  CharSet set(code, code + 1);
  set.ignoreCase();
  return set;
}

static Codes getCodes(std::string_view text) {
  Codes codes;
  for (size_t at = 0; at < text.size();)
    codes.push_back(utf8::decode(text, at));
  return codes;
}

/// Finds the longest string at `sets[at]`: returns its length, or 1 without
/// one, and the characters that match it.
static std::pair<size_t, CharSet> findString(const Sets &sets, size_t at) {
  std::pair<size_t, CharSet> found{1, CharSet()};
  for (size_t i = 0; i < foldStringCount; ++i) {
    const Codes text = getCodes(foldStrings[i].text);
    bool matches = text.size() <= sets.size() - at;
    for (size_t k = 0; matches && k < text.size(); ++k)
      matches = sets[at + k].contains(text[k]);
    if (!matches || text.size() < found.first)
      continue;
    if (text.size() > found.first)
      found = {text.size(), CharSet()};
    found.second.add(foldedSet(foldStrings[i].code));
  }
  return found;
}

/// Appends the alternatives that match `sets`. Strings do not overlap: the
/// first one is used.
static void addWays(const Sets &sets, RegexNode &sequence) {
  for (size_t at = 0; at < sets.size();) {
    auto [length, characters] = findString(sets, at);
    RegexTree single = makeTree(Kind::Sequence);
    for (size_t i = 0; i < length; ++i)
      single->parts.push_back(setTree(sets[at + i]));
    at += length;
    if (length == 1)
      sequence.parts.push_back(std::move(single->parts[0]));
    else
      sequence.parts.push_back(makeTree(Kind::Alternatives, std::move(single),
                                        setTree(std::move(characters))));
  }
}

RegexTree foldedTree(const Codes &literals) {
  RegexTree node = makeTree(Kind::Sequence);
  Sets run;
  auto flush = [&] {
    addWays(run, *node);
    run.clear();
  };
  for (char32_t code : literals) {
    auto entry = std::find_if(
        foldStrings, foldStrings + foldStringCount,
        [&](const FoldString &string) { return string.code == code; });
    if (entry == foldStrings + foldStringCount) {
      run.push_back(foldedSet(code));
      continue;
    }

    // A character that folds to a string is handled alone.
    flush();
    for (char32_t each : getCodes(entry->text))
      run.push_back(foldedSet(each));
    flush();
  }
  flush();
  return node->parts.size() == 1 ? std::move(node->parts[0]) : std::move(node);
}

RegexTree foldedClass(CharSet set, bool negative) {
  // Case is ignored inside a negated class.
  if (negative) {
    CharSet inside = set.complement();
    inside.ignoreCase();
    return setTree(inside.complement());
  }
  RegexTree node = makeTree(Kind::Alternatives);
  node->parts.push_back(nullptr);
  for (size_t i = 0; i < foldStringCount; ++i)
    if (set.contains(foldStrings[i].code))
      node->parts.push_back(foldedTree({foldStrings[i].code}));
  set.ignoreCase();
  node->parts[0] = setTree(std::move(set));
  return node->parts.size() == 1 ? std::move(node->parts[0]) : std::move(node);
}

} // namespace transom::tokenizer
