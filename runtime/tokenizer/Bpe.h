// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Byte-pair encoding (Sennrich et al., 2016, section 3.2): a word starts as
// single characters; the earliest learned merge that applies to neighbors is
// performed, until none applies.
#pragma once
#include "runtime/tokenizer/Splitter.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"
#include "runtime/tokenizer/WordCache.h"

namespace transom::tokenizer {

/// Splits words into tokens with the BPE model in the tables. Its scratch
/// memory grows with the longest word, so it is not const and each thread has
/// its own.
class Bpe {
public:
  explicit Bpe(const Tables &tables);

  /// Appends the tokens for `word` in `text`, which is not empty. Characters
  /// that are not tokens become the unknown token, or are omitted if there is
  /// none. Takes O(n log n) for n characters.
  void tokenize(const Characters &text, Span word, std::vector<Token> &tokens);

private:
  static constexpr uint32_t none = UINT32_MAX;
  /// Up to this symbol count, merging is faster without a heap.
  static constexpr size_t fewSymbols = 32;

  /// A symbol in the word; symbols are linked in word order.
  struct Symbol {
    uint32_t id;
    uint32_t previous, next; ///< or `none`
    uint32_t bytes;          ///< UTF-8 bytes in the word; 0: merged away
  };
  /// A merge that applied when it was queued.
  struct Candidate {
    uint32_t rank, left, result;
    bool operator<(const Candidate &other) const {
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  /// Result of merging a pair.
  struct Merge {
    uint32_t rank = none, result = none;
  };

  uint32_t findWord(const Characters &text, Span word) const;
  uint32_t wholeWord(const Characters &text, Span word) const;
  bool isCut(uint32_t id) const;
  void split(const Characters &text, Span word);
  void addUnknown(char32_t code, bool first, bool last);
  void flushUnknown();
  void addSymbol(uint32_t id, uint32_t bytes);
  void mergeAll();
  void mergeFew();
  void merge(const Candidate &candidate);
  void queuePair(uint32_t left);
  Merge getMerge(uint32_t left, uint32_t right) const;
  void give(const Characters &text, Span word);
  void addPart(uint32_t id, size_t first, size_t last);
  void findParts(const Characters &text, Span word);
  void tokenizePart(const Characters &text, Span word,
                    std::vector<Token> &tokens);

  Trie trie;
  uint32_t continuingRoot; ///< state after the continuing prefix
  std::string_view prefix, suffix;
  uint32_t unknownId, idEnd, flags, probe;
  ArrayView<MergeSlot> merges;
  ArrayView<uint32_t> results, byteTokens;
  ArrayView<double> scores; ///< empty if splitting may produce every token

  std::vector<Symbol> symbols;
  std::vector<WordPart> parts; ///< for the current word
  WordCache cache;
  std::vector<Candidate> queue; ///< a heap
  uint32_t unknownBytes = 0;    ///< in the pending unknown token
};

} // namespace transom::tokenizer
