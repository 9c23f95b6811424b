// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The WordLevel model: a word is one token.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"
#include <optional>

namespace transom::tokenizer {

/// Looks words up in the vocabulary.
class WordLevel {
public:
  explicit WordLevel(const Tables &tables);

  /// Appends the token for `word` in `text`, which is not empty: the unknown
  /// token if it has none.
  void tokenize(const Characters &text, Span word, std::vector<Token> &tokens);

  /// Returns the byte offset of the first word without a token since the last
  /// call, if the vocabulary has no unknown token.
  std::optional<uint32_t> takeMissing();

private:
  Trie trie;
  uint32_t unknownId;
  std::optional<uint32_t> missing;
};

} // namespace transom::tokenizer
