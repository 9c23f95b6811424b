// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Follows the trie to the end of the word.
#include "runtime/tokenizer/WordLevel.h"
#include <utility>

namespace transom::tokenizer {

WordLevel::WordLevel(const Tables &tables)
    : trie(tables.trie(Section::ModelTrie)),
      unknownId(tables.parameters().unknownId) {}

void WordLevel::tokenize(const Characters &text, Span word,
                         std::vector<Token> &tokens) {
  uint32_t state = Trie::root;
  for (size_t at = word.begin; at < word.end && state != Trie::none; ++at)
    state = trie.stepCode(state, text[at].code);
  uint32_t id = state == Trie::none ? Trie::none : trie.value(state);
  if (id == Trie::none)
    id = unknownId;
  if (id != Trie::none)
    tokens.push_back({id, text[word.begin].begin, text[word.end - 1].end});
  else if (!missing)
    missing = text[word.begin].begin;
}

std::optional<uint32_t> WordLevel::takeMissing() {
  return std::exchange(missing, std::nullopt);
}

} // namespace transom::tokenizer
