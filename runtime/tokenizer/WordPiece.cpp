// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Continuing tokens start in the trie after the continuing prefix, so matching
// starts at most once per token.
#include "runtime/tokenizer/WordPiece.h"

namespace transom::tokenizer {

WordPiece::WordPiece(const Tables &tables)
    : trie(tables.trie(Section::ModelTrie)),
      continuingRoot(trie.step(
          Trie::root, tables.text(tables.parameters().continuingPrefix))),
      unknownId(tables.parameters().unknownId),
      maxWordCharacters(tables.parameters().maxWordCharacters) {}

void WordPiece::tokenize(const Characters &text, Span word,
                         std::vector<Token> &tokens) const {
  // A word that is too long is unknown.
  size_t before = tokens.size();
  size_t begin =
      word.end - word.begin > maxWordCharacters ? word.end : word.begin;
  bool known = begin == word.begin;
  // Take the longest token at each position, until none matches.
  while (begin < word.end) {
    uint32_t state = begin == word.begin ? Trie::root : continuingRoot;
    uint32_t id = Trie::none;
    size_t end = begin;
    for (size_t at = begin; at < word.end && state != Trie::none; ++at) {
      state = trie.stepCode(state, text[at].code);
      if (uint32_t value = trie.value(state); value != Trie::none) {
        id = value;
        end = at + 1;
      }
    }
    if (id == Trie::none) {
      known = false;
      break;
    }
    const Token token = {id, text[begin].begin, text[end - 1].end};
    tokens.push_back(token);
    begin = end;
  }
  // Without a complete match, the word is one unknown token.
  if (known)
    return;
  tokens.resize(before);
  tokens.push_back({unknownId, text[word.begin].begin, text[word.end - 1].end});
}

} // namespace transom::tokenizer
