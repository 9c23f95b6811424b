// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a compiled model: converts text to ids and back, directly on
// the tables that the compiler wrote. Ids equal Hugging Face tokenizers' ids;
// offsets count bytes in the given text.
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

/// Encoding options.
struct EncodeOptions {
  /// Add the template's special tokens around the text.
  bool addSpecial = true;
  /// Max id count, including special tokens; longer texts are truncated at the
  /// side and with the strategy that tokenizer.json specifies (by default
  /// longest first, on the right). 0: no limit.
  size_t maxLength = 0;
  /// Replaces the source language token in the template; by default the
  /// language in the tokenizer's files is used. `findLanguage` returns the id.
  /// For a text in the target language, set the target language.
  std::optional<int64_t> language = std::nullopt;
};

/// Bytes [begin, end) of the text that a token represents (of the second text,
/// for its tokens); 0, 0 for the template's special tokens.
struct TokenOffsets {
  size_t begin;
  size_t end;
};

/// An encoded text; each list has one entry per token.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> typeIds;
  std::vector<TokenOffsets> offsets;
  std::vector<uint8_t> specialMask; ///< 1: added by the template
  std::vector<uint8_t> sequence;    ///< 0 first text, 1 second, 2 template
  /// Word index in its sequence, as split by pre-tokenizer and added tokens;
  /// UINT32_MAX for template tokens.
  std::vector<uint32_t> words;
  size_t truncatedTokens = 0; ///< number of removed tokens
  size_t expansionTokens = 0; ///< number of query expansion tokens at the end
};

/// A translator's language and its token.
struct TokenizerLanguage {
  std::string_view name; ///< `en_XX`, `eng_Latn`, `en`
  int64_t id;
};

/// Immutable except for internal scratch memory, which caches recently encoded
/// words. Thread-safe.
class Tokenizer {
public:
  /// Opens tables, which the caller owns and which must outlive the tokenizer.
  /// Nothing is copied. Returns `Rejected` if the bytes are not valid tables.
  static Result<Tokenizer> open(std::string_view tables);

  /// Encodes a text or a pair of texts. Returns `Rejected`, with the byte
  /// offset, for text that is not UTF-8, and for a text that needs an unknown
  /// token if the model has none; `Limit` if `maxLength` has no room for the
  /// template, if the texts cannot be truncated to it, or if a text has 4 GiB
  /// or more.
  Result<Encoding> encode(std::string_view text,
                          std::optional<std::string_view> pair,
                          const EncodeOptions &options) const;
  Result<Encoding> encode(std::string_view text,
                          const EncodeOptions &options = {}) const {
    return encode(text, std::nullopt, options);
  }

  /// Encodes a text that is already split into words, each word separately.
  /// `Encoding::words` contains the words' indices; offsets are relative to the
  /// word and untrimmed. Errors as for `encode`.
  Result<Encoding> encodeWords(const std::vector<std::string_view> &words,
                               const EncodeOptions &options = {}) const;

  /// Returns a translator's languages, sorted by name; empty for other models.
  std::vector<TokenizerLanguage> getLanguages() const;
  /// Returns the language's token. `Usage`, with the supported names, for an
  /// unknown language; `Unsupported` if the tokenizer has no languages.
  Result<int64_t> findLanguage(std::string_view name) const;

  /// Converts `ids` to text; ids without a token are skipped, also special
  /// tokens if `skipSpecial` is set; `keepsSpaces` disables the cleanup of
  /// spaces in the tokenizer's settings. Returns `Unsupported` if
  /// tokenizer.json has an unsupported decoder. `DecodeStream` does the same id
  /// by id.
  Result<std::string> decode(const std::vector<int64_t> &ids,
                             bool skipSpecial = true,
                             bool keepsSpaces = false) const;

  /// Returns the token for an id, as spelled in the vocabulary.
  std::optional<std::string_view> token(int64_t id) const;
  /// True for a token that decoding skips with `skipSpecial`.
  bool isSpecial(int64_t id) const;
  /// Returns a token's id; added tokens take precedence.
  std::optional<int64_t> getId(std::string_view token) const;
  /// Token count, including added tokens.
  size_t size() const;
  /// The largest id + 1: the min row count for an embedding table.
  size_t idEnd() const { return tables.parameters().idEnd; }
  /// The max length that tokenizer.json specifies, if any.
  std::optional<size_t> truncation() const;

  /// Returns the tokenizer for target-language texts: a separate one if a
  /// translator's files have two, otherwise this one.
  const Tokenizer &getTarget() const;

  /// The tables that the tokenizer reads.
  const tokenizer::Tables &data() const { return tables; }

private:
  explicit Tokenizer(tokenizer::Tables tables);
  /// Truncates one or two sequences to the max length; returns the number of
  /// removed tokens.
  Result<size_t> cut(std::vector<tokenizer::Token> (&sequences)[2], bool pair,
                     const EncodeOptions &options) const;
  tokenizer::Tables tables;
  std::shared_ptr<const Tokenizer> target;
  std::shared_ptr<tokenizer::EncoderPool> pool;
};

} // namespace transom
