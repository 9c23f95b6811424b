// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The WordPiece model (Wu et al., 2016, section 4.1; greedy longest match as in
// BERT): a word becomes its longest token prefix, followed by the longest
// tokens with the continuing prefix.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"

namespace transom::tokenizer {

/// Splits words into tokens with the WordPiece model in the tables.
class WordPiece {
public:
  explicit WordPiece(const Tables &tables);

  /// Appends the tokens for `word` in `text`, which is not empty: the unknown
  /// token if the word is too long or some part is in no token. Time is bounded
  /// by the word length times the longest token length.
  void tokenize(const Characters &text, Span word,
                std::vector<Token> &tokens) const;

private:
  Trie trie;
  uint32_t continuingRoot; ///< state after the continuing prefix
  uint32_t unknownId;
  uint32_t maxWordCharacters;
};

} // namespace transom::tokenizer
