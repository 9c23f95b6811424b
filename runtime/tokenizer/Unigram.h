// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Unigram model (Kudo, 2018, section 3.2): splits a word into the tokens
// with the largest score sum.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"
#include <optional>
#include <utility>

namespace transom::tokenizer {

/// Splits words into tokens with the Unigram model in the tables. Its scratch
/// memory grows with the longest word, so each thread has its own.
class Unigram {
public:
  explicit Unigram(const Tables &tables);

  /// Appends the tokens for `word` in `text`, which is not empty. Adjacent
  /// characters that no token covers become one unknown token, or their byte
  /// tokens; without an unknown token, `takeMissing` reports them and the
  /// tokens are incomplete. Time is bounded by the word length times the
  /// longest token length.
  void tokenize(const Characters &text, Span word, std::vector<Token> &tokens);

  /// Appends `part` as one token, or the unknown token if it is not one.
  void addWhole(const Characters &text, Span part,
                std::vector<Token> &tokens) const;

  /// Returns the byte offset of the first character that needs an unknown token
  /// since the last call, if there was one.
  std::optional<uint32_t> takeMissing() {
    return std::exchange(missing, std::nullopt);
  }

private:
  /// The best path to a position: its score, and its last token.
  struct Node {
    double score = 0;
    uint32_t id = 0;
    uint32_t length = 0; ///< of the last token in characters; 0: no path yet
  };

  uint32_t find(const Characters &text, Span part) const;
  /// Returns true if this is now the best path.
  bool extend(size_t at, size_t length, uint32_t id, double score);
  void findBest(const Characters &text, Span word);
  void linkForward();
  void addUnknown(const Characters &text, Span part,
                  std::vector<Token> &tokens) const;

  Trie trie;
  ArrayView<double> scores;
  ArrayView<uint32_t> byteTokens;
  double unknownScore;
  uint32_t unknownId, idEnd, flags;
  std::optional<uint32_t> missing;
  std::vector<Node> nodes; ///< by the position where the last token ends
};

} // namespace transom::tokenizer
