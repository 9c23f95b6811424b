// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps from a text to its tokens: find added tokens in the text as it is,
// normalize what lies between them, find added tokens again, cut into words,
// and words into tokens by the model.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/tokenizer/AddedTokens.h"
#include "runtime/tokenizer/Bpe.h"
#include "runtime/tokenizer/Unigram.h"
#include "runtime/tokenizer/WordLevel.h"
#include "runtime/tokenizer/WordPiece.h"
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace transom::tokenizer {

/// What trimming takes for a space at the end of a token.
bool isTrimmed(char32_t code);

/// Makes the tokens of texts, before truncation and template. Keeps its scratch
/// from text to text, so each thread has its own.
class SequenceEncoder {
public:
  /// The bytes of the tables outlive it.
  explicit SequenceEncoder(const Tables &tables);

  /// `text` is UTF-8 of less than 4 GiB. `Rejected` where a character needs an
  /// unknown token and the model has no such token.
  Result<std::vector<Token>> encode(std::string_view text);

private:
  void encodeAll(Characters &characters);
  void encodeBetween(Characters &text);
  void encodeWords(Characters &text);
  void addToken(const Characters &text, const Split &split);
  void takeLanguageCode(Characters &text);

  Tables tables;
  uint32_t word = 0; ///< of the next tokens
  WordPiece wordPiece;
  Bpe bpe;
  Unigram unigram;
  WordLevel wordLevel;
  ArrayView<AddedToken> added;
  Trie rawTrie, normalizedTrie;
  std::vector<Token> tokens;
};

/// The encoders of a tokenizer that no thread uses now. There are at most as
/// many as threads that encoded at once.
class EncoderPool {
public:
  /// One of them, or a new one.
  std::unique_ptr<SequenceEncoder> take(const Tables &tables);
  void put(std::unique_ptr<SequenceEncoder> encoder);

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<SequenceEncoder>> idle;
};

} // namespace transom::tokenizer
