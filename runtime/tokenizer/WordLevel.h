// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model WordLevel: a word is one token.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"
#include <optional>

namespace transom::tokenizer {

/// Finds words in the vocabulary of some tables.
class WordLevel {
public:
  explicit WordLevel(const Tables &tables);

  /// Appends the token of `word` of `text`, which is not empty: the unknown
  /// token if it has none.
  void tokenize(const Characters &text, Span word, std::vector<Token> &tokens);

  /// The first byte of a word that has no token, in a vocabulary without an
  /// unknown token, since the last call.
  std::optional<uint32_t> takeMissing();

private:
  Trie trie;
  uint32_t unknownId;
  std::optional<uint32_t> missing;
};

} // namespace transom::tokenizer
