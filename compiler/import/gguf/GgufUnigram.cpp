// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SentencePiece unigram tokenizers, used by T5 and XLM-RoBERTa.
#include "compiler/import/gguf/GgufTokenizerMaker.h"
#include <algorithm>

namespace transom::gguf {

/// Encodes bytes as a base64 string.
static std::string encodeBase64(std::string_view bytes) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i)
      group = group << 8 |
              (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i)
      text += i <= count ? digits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

Result<void> TokenizerMaker::writeCharacterMap() {
  const char *key = "precompiled_charsmap";
  const Value *value = reader.find(key);
  if (!value)
    return {};
  const std::optional<std::string_view> bytes = value->asBytes();
  if (!bytes)
    return reader.fail(key, *value, "is not an array of bytes");
  if (bytes->empty())
    return {};
  json.beginObject();
  json.member("type", "Precompiled");
  json.member("precompiled_charsmap", encodeBase64(*bytes));
  json.endObject();
  return {};
}

/// Without extra spaces texts are words, each with a preceding mark; otherwise
/// each space is a mark. The template for two texts is the model's: the begin
/// token separates the texts if texts have one.
Result<void> TokenizerMaker::makeUnigram() {
  TRANSOM_TRY(readBoundaries(false, true));
  TRANSOM_ASSIGN(const bool prefix, reader.readFlag("add_space_prefix", true));
  TRANSOM_ASSIGN(const bool isTrimmed,
                 reader.readFlag("remove_extra_whitespaces", false));
  // Write the normalizer.
  beginFile();
  json.key("normalizer");
  json.beginObject();
  json.member("type", "Sequence");
  json.key("normalizers");
  json.beginArray();
  TRANSOM_TRY(writeCharacterMap());
  if (!isTrimmed) {
    if (prefix)
      writePrepend();
    writeReplace(" ", spaceMark);
  }
  json.endArray();
  json.endObject();
  // Write the pre-tokenizer, template, decoder and model.
  if (isTrimmed)
    writeWords();
  writeTemplate(first && last ? last : std::nullopt, 0);
  if (isTrimmed)
    writeMetaspace("decoder");
  else
    writePieceDecoder(prefix);
  writeScores();
  json.endObject();
  return {};
}

void TokenizerMaker::writeMetaspace(const char *key) {
  if (key)
    json.key(key);
  json.beginObject();
  json.member("type", "Metaspace");
  json.member("replacement", spaceMark);
  json.member("prepend_scheme", "always");
  json.member("split", true);
  json.endObject();
}

void TokenizerMaker::writeWords() {
  json.key("pre_tokenizer");
  json.beginObject();
  json.member("type", "Sequence");
  json.key("pretokenizers");
  json.beginArray();
  json.beginObject();
  json.member("type", "WhitespaceSplit");
  json.endObject();
  writeMetaspace(nullptr);
  json.endArray();
  json.endObject();
}

/// The score for an unknown character is derived from normal tokens: vocabulary
/// fillers have much lower scores.
void TokenizerMaker::writeScores() {
  json.key("model");
  json.beginObject();
  json.member("type", "Unigram");
  if (std::optional<int64_t> unknown = getRole("unk"))
    json.member("unk_id", *unknown);
  std::optional<double> least;
  const bool hasBytes =
      std::any_of(tokens.begin(), tokens.end(), [](const Token &token) {
        return token.type == TokenType::Byte;
      });
  json.member("byte_fallback", hasBytes);
  // Write the vocabulary; only normal tokens determine the least score.
  json.key("vocab");
  json.beginArray();
  for (const Token &token : tokens) {
    json.beginArray();
    json.value(token.text);
    json.value(token.score);
    json.endArray();
    if (token.type == TokenType::Normal)
      least = std::min(least.value_or(token.score), token.score);
  }
  json.endArray();
  if (least)
    json.member("least_score", *least);
  json.endObject();
}

} // namespace transom::gguf
