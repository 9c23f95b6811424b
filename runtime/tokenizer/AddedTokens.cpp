// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A match with a word character next to it is discarded if the token must be a
// single word; matched characters are not searched again in either case. lstrip
// and rstrip extend a token over adjacent whitespace.
#include "runtime/tokenizer/AddedTokens.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>

namespace transom::tokenizer {

namespace {
struct Match {
  size_t end = 0;
  uint32_t index = Trie::none;
};

/// Scans a text once.
class Finder {
public:
  Finder(Trie trie, ArrayView<AddedToken> tokens, const Characters &text)
      : trie(trie), tokens(tokens), text(text) {}

  std::vector<Split> run() {
    for (size_t at = 0; at < text.size();) {
      Match match = longestAt(at);
      if (match.index >= tokens.size()) {
        ++at;
        continue;
      }
      take(at, match.end, tokens[match.index]);
      at = match.end;
    }
    if (taken < text.size())
      splits.push_back({{taken, text.size()}, std::nullopt});
    return std::move(splits);
  }

private:
  Match longestAt(size_t begin) const {
    Match best;
    uint32_t state = Trie::root;
    for (size_t at = begin; at < text.size(); ++at) {
      state = trie.stepCode(state, text[at].code);
      if (state == Trie::none)
        break;
      if (uint32_t index = trie.value(state); index != Trie::none)
        best = {at + 1, index};
    }
    return best;
  }

  void take(size_t begin, size_t end, AddedToken token) {
    if (token.flags & SingleWord) {
      bool wordBefore = begin > 0 && unicode::isWord(text[begin - 1].code);
      bool wordAfter = end < text.size() && unicode::isWord(text[end].code);
      if (wordBefore || wordAfter)
        return;
    }
    if (token.flags & LeftStrip) {
      while (begin > taken && unicode::isWhitespace(text[begin - 1].code))
        --begin;
      begin = std::max(begin, taken);
    }
    if (token.flags & RightStrip)
      end = whitespaceEnd(end);
    begin = std::min(begin, end);
    if (taken < begin)
      splits.push_back({{taken, begin}, std::nullopt});
    splits.push_back({{begin, end}, token.id});
    taken = end;
  }

  /// Returns where the whitespace run that starts at `at` ends. The last run is
  /// cached, so tokens inside one run do not search it again.
  size_t whitespaceEnd(size_t at) {
    if (at < lastRun.begin || at >= lastRun.end) {
      lastRun = {at, at};
      while (lastRun.end < text.size() &&
             unicode::isWhitespace(text[lastRun.end].code))
        ++lastRun.end;
    }
    return lastRun.end;
  }

  Trie trie;
  ArrayView<AddedToken> tokens;
  const Characters &text;
  std::vector<Split> splits;
  size_t taken = 0;
  Span lastRun{0, 0};
};
} // namespace

std::vector<Split> splitAdded(Trie trie, ArrayView<AddedToken> tokens,
                              const Characters &text) {
  if (text.empty())
    return {};
  if (trie.empty() || tokens.size() == 0)
    return {{{0, text.size()}, std::nullopt}};
  return Finder(trie, tokens, text).run();
}

} // namespace transom::tokenizer
