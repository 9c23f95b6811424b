// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a compiled model: text to ids and back, straight on the
// tables that the compiler laid out. Ids equal those of Hugging Face's
// tokenizers; offsets count bytes of the given text.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tables.h"
#include "runtime/tokenizer/Token.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

namespace tokenizer {
class EncoderPool;
}

/// How a text is encoded.
struct EncodeOptions {
  /// Put the template's special tokens around the text.
  bool addSpecial = true;
  /// The most ids, special tokens counted; longer texts are cut at the side
  /// and by the strategy that tokenizer.json names (longest first, on the
  /// right, where it names none). 0: as long as the text is.
  size_t maxLength = 0;
  /// The token that the template puts where the source language's token is;
  /// absent: the language that the tokenizer's files name. `findLanguage` gives
  /// it. For a text in the target language, that of the target language.
  std::optional<int64_t> language = std::nullopt;
};

/// Bytes [begin, end) of the text that a token stands for (of the second text,
/// for tokens of the second of a pair); 0, 0 for special tokens of the
/// template.
struct TokenOffsets {
  size_t begin;
  size_t end;
};

/// An encoded text; all lists have one entry a token.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> typeIds;
  std::vector<TokenOffsets> offsets;
  std::vector<uint8_t> specialMask; ///< 1: put there by the template
  std::vector<uint8_t> sequence;    ///< 0 first text, 1 second, 2 template
  /// The word of its sequence, as pre-tokenizer and added tokens cut it;
  /// UINT32_MAX for tokens of the template.
  std::vector<uint32_t> words;
  size_t truncatedTokens = 0; ///< how many were cut off
  size_t expansionTokens = 0; ///< how many at the end fill a query up
};

/// A language of a translator and its token.
struct TokenizerLanguage {
  std::string_view name; ///< `en_XX`, `eng_Latn`, `en`
  int64_t id;
};

/// Immutable but for scratch memory that it keeps, with the words seen last;
/// may be used by several threads at once.
class Tokenizer {
public:
  /// Opens tables, which stay the caller's and outlive the tokenizer. No work
  /// is done and nothing is copied. `Rejected` for bytes that are no tables.
  static Result<Tokenizer> open(std::string_view tables);

  /// Encodes a text, or a pair of texts. `Rejected` for text that is not
  /// UTF-8, naming the byte; `Limit` where `maxLength` has no room for the
  /// template or a text has 4 GiB or more.
  Result<Encoding> encode(std::string_view text,
                          std::optional<std::string_view> pair,
                          const EncodeOptions &options) const;
  Result<Encoding> encode(std::string_view text,
                          const EncodeOptions &options = {}) const {
    return encode(text, std::nullopt, options);
  }

  /// Encodes a text that is cut into words already, each word by itself.
  /// `Encoding::words` are their numbers, and offsets are into a word, as the
  /// model made its tokens. Errors as of a text.
  Result<Encoding> encodeWords(const std::vector<std::string_view> &words,
                               const EncodeOptions &options = {}) const;

  /// The languages of a translator, sorted by name; none of other models.
  std::vector<TokenizerLanguage> getLanguages() const;
  /// The token of a language. `Usage` for one that is not known, naming those
  /// that are; `Unsupported` where the tokenizer has none.
  Result<int64_t> findLanguage(std::string_view name) const;

  /// The text of `ids`; ids without a token are left out, special tokens too
  /// with `skipSpecial`; `keepsSpaces` where the settings clean them up.
  /// `Unsupported` where tokenizer.json has a decoder that is not supported.
  /// `DecodeStream` does the same id by id.
  Result<std::string> decode(const std::vector<int64_t> &ids,
                             bool skipSpecial = true,
                             bool keepsSpaces = false) const;

  /// The token of an id, as the vocabulary spells it.
  std::optional<std::string_view> token(int64_t id) const;
  /// True for a token that decoding leaves out with `skipSpecial`.
  bool isSpecial(int64_t id) const;
  /// The id of a token, added tokens first.
  std::optional<int64_t> getId(std::string_view token) const;
  /// Number of tokens, added ones counted.
  size_t size() const;
  /// The largest id + 1: the rows that an embedding table must have.
  size_t idEnd() const { return tables.parameters().idEnd; }
  /// The maximum length that tokenizer.json asks for, if any.
  std::optional<size_t> truncation() const;

  /// The tokenizer of texts in the target language: another one where a
  /// translator's files have two, else the same.
  const Tokenizer &getTarget() const;

  /// What it reads.
  const tokenizer::Tables &data() const { return tables; }

private:
  explicit Tokenizer(tokenizer::Tables tables);
  /// Cuts the tokens of a text or of two to the maximum; gives how many went.
  Result<size_t> cut(std::vector<tokenizer::Token> (&sequences)[2], bool pair,
                     const EncodeOptions &options) const;
  tokenizer::Tables tables;
  std::shared_ptr<const Tokenizer> target;
  std::shared_ptr<tokenizer::EncoderPool> pool;
};

} // namespace transom
