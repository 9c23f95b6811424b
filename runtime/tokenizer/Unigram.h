// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The Unigram model (Kudo, 2018, section 3.2): of all ways to cut a word into
// tokens, the one whose scores have the largest sum.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"
#include <optional>
#include <utility>

namespace transom::tokenizer {

/// Splits words into tokens by the Unigram model of some tables. Its scratch
/// grows with the longest word, so each thread has its own.
class Unigram {
public:
  explicit Unigram(const Tables &tables);

  /// Appends the tokens of `word` of `text`, which is not empty. Neighbouring
  /// characters that are in no token become one unknown token, or the tokens
  /// of their bytes; without an unknown token they are reported by
  /// `takeMissing`, and the tokens are incomplete. Time is bounded by the
  /// word's length times that of the longest token.
  void tokenize(const Characters &text, Span word, std::vector<Token> &tokens);

  /// Appends `part` as one token, or the unknown token if it is not one.
  void addWhole(const Characters &text, Span part,
                std::vector<Token> &tokens) const;

  /// The byte of the text where a character is that needs an unknown token, if
  /// there was one since the last call.
  std::optional<uint32_t> takeMissing() {
    return std::exchange(missing, std::nullopt);
  }

private:
  /// The best way to cut the characters before some place: its score, and its
  /// last token.
  struct Node {
    double score = 0;
    uint32_t id = 0;
    uint32_t length = 0; ///< of the last token in characters; 0: no way yet
  };

  uint32_t find(const Characters &text, Span part) const;
  /// True if the way is the best one now.
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
  std::vector<Node> nodes; ///< by the place where the last token ends
};

} // namespace transom::tokenizer
