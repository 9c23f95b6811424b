// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages from text to tokens: find added tokens in the unchanged text,
// normalize the text between them, find added tokens again, split into words,
// and split words into tokens with the model.
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

/// True for characters that trimming treats as spaces at a token's ends.
bool isTrimmed(char32_t code);

/// Tokenizes texts, before truncation and template. Reuses its scratch memory
/// between texts, so each thread has its own.
class SequenceEncoder {
public:
  /// The table bytes must outlive the encoder.
  explicit SequenceEncoder(const Tables &tables);

  /// `text` is UTF-8 below 4 GiB. Returns `Rejected` if a character needs an
  /// unknown token and the model has none.
  Result<std::vector<Token>> encode(std::string_view text);

private:
  void encodeAll(Characters &characters);
  void encodeBetween(Characters &text);
  void encodeWords(Characters &text);
  void addToken(const Characters &text, const Split &split);
  void takeLanguageCode(Characters &text);

  Tables tables;
  uint32_t word = 0; ///< index for the next tokens
  WordPiece wordPiece;
  Bpe bpe;
  Unigram unigram;
  WordLevel wordLevel;
  ArrayView<AddedToken> added;
  Trie rawTrie, normalizedTrie;
  std::vector<Token> tokens;
};

/// Idle encoders for one tokenizer, at most as many as have encoded at the same
/// time. Thread-safe.
class EncoderPool {
public:
  /// Returns an idle encoder or a new one.
  std::unique_ptr<SequenceEncoder> take(const Tables &tables);
  void put(std::unique_ptr<SequenceEncoder> encoder);

private:
  std::mutex mutex;
  std::vector<std::unique_ptr<SequenceEncoder>> idle;
};

} // namespace transom::tokenizer
