// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the JSON files beside a folder's vocabulary say about its tokenizer:
// tokenizer_config.json, special_tokens_map.json and added_tokens.json.
#pragma once
#include "compiler/import/tokenizer/AddedTokens.h"
#include "runtime/json/Json.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// A file's bytes, and its name in errors.
struct NamedFile {
  std::string_view bytes;
  std::string name;
};

/// How many ids the model has: of the texts that it reads, and of those that it
/// writes.
struct ModelVocabulary {
  int64_t source = INT32_MAX, target = INT32_MAX;
};

namespace tokenizer {

/// A token as the files describe it: a text, or an object with flags.
struct TokenSetting {
  std::string content;
  bool isText = false; ///< without flags
  bool special = false;
  bool singleWord = false, leftStrip = false, rightStrip = false;
  std::optional<bool> normalized; ///< absent: unless it is special
  std::optional<uint32_t> id;
  std::optional<JsonValue> value;
};

/// A token with a role: `eos_token`.
struct NamedToken {
  std::string key;
  std::optional<TokenSetting> token; ///< nothing: null
};

/// The settings, merged as the classes of transformers merge them.
struct TokenizerSettings {
  /// What the values lie in: tokenizer_config.json, or an empty object without
  /// one, and the other files.
  std::vector<JsonDocument> documents;
  std::vector<NamedToken> named;
  /// `extra_special_tokens`, or `additional_special_tokens` of
  /// tokenizer_config.json, if either is there.
  std::optional<std::vector<TokenSetting>> extra;
  /// `additional_special_tokens` of special_tokens_map.json.
  std::vector<TokenSetting> additional;
  /// Tokens with ids, by ascending id.
  std::vector<TokenSetting> added;

  /// Keys that count before those of tokenizer_config.json.
  std::optional<JsonValue> overrides;

  /// The token with a role, or null where no file has the key.
  const NamedToken *find(std::string_view key) const;
  /// A flag of tokenizer_config.json; absent or null gives `fallback`.
  Result<bool> getFlag(std::string_view key, bool fallback) const;
  /// A text of tokenizer_config.json, if it is there.
  Result<std::optional<std::string>> getText(std::string_view key) const;
  /// `truncation_side` of tokenizer_config.json is left; `fallback` without it.
  Result<bool> truncatesLeft(bool fallback) const;
  /// A list of texts of tokenizer_config.json, if it is there.
  Result<std::optional<std::vector<std::string>>>
  getTexts(std::string_view key) const;
  /// Where `truncation=True` cuts: `model_max_length`, or `max_len` of old
  /// folders; nothing where it is too large to be a length.
  Result<std::optional<int64_t>> getMaxLength() const;
  /// A number of tokenizer_config.json from 0 to `limit`.
  Result<int64_t> getNumber(std::string_view key, int64_t fallback,
                            int64_t limit) const;
};

/// The files of a folder; all of them may be absent.
struct SettingFiles {
  std::optional<NamedFile> config, specialTokens, addedTokens;
  /// Text is made lower case whatever the class does, as sentence-transformers
  /// does where its `do_lower_case` is true.
  bool lowersCase = false;
  /// Keys that count before those of tokenizer_config.json, in a document that
  /// outlives the settings.
  std::optional<JsonValue> overrides = std::nullopt;
};

/// `serialized` is a tokenizer.json beside them, whose `added_tokens` come
/// last.
Result<TokenizerSettings>
readTokenizerSettings(const SettingFiles &files,
                      std::optional<JsonValue> serialized = std::nullopt);

/// An error that begins with the name of one of the files, or else with that of
/// the file of the vocabulary.
Error nameFile(Error error, const SettingFiles &files, std::string_view other);

} // namespace tokenizer
} // namespace transom
