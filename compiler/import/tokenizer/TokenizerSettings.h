// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizer settings in the JSON files next to a folder's vocabulary:
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

/// Id counts of the model: for input texts and for generated texts.
struct ModelVocabulary {
  int64_t source = INT32_MAX, target = INT32_MAX;
};

namespace tokenizer {

/// A token as described in files: a string, or an object with flags.
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
  std::optional<TokenSetting> token; ///< nullopt: null
};

/// The settings, merged as in transformers' classes.
struct TokenizerSettings {
  /// Documents that own the values: tokenizer_config.json, or an empty object
  /// without one, and the other files.
  std::vector<JsonDocument> documents;
  std::vector<NamedToken> named;
  /// `extra_special_tokens`, or `additional_special_tokens` in
  /// tokenizer_config.json, if either exists.
  std::optional<std::vector<TokenSetting>> extra;
  /// `additional_special_tokens` in special_tokens_map.json.
  std::vector<TokenSetting> additional;
  /// Tokens with ids, in ascending order.
  std::vector<TokenSetting> added;

  /// Keys that take precedence over tokenizer_config.json.
  std::optional<JsonValue> overrides;

  /// Returns the token with a role, or null if no file has the key.
  const NamedToken *find(std::string_view key) const;
  /// Returns a flag in tokenizer_config.json; `fallback` if absent or null.
  Result<bool> getFlag(std::string_view key, bool fallback) const;
  /// Returns a string in tokenizer_config.json, if it exists.
  Result<std::optional<std::string>> getText(std::string_view key) const;
  /// Returns whether `truncation_side` in tokenizer_config.json is left;
  /// `fallback` if absent.
  Result<bool> truncatesLeft(bool fallback) const;
  /// Returns a list of strings in tokenizer_config.json, if it exists.
  Result<std::optional<std::vector<std::string>>>
  getTexts(std::string_view key) const;
  /// Returns the max length for `truncation=True`: `model_max_length`, or
  /// `max_len` in old folders; nullopt if it is too large for a length.
  Result<std::optional<int64_t>> getMaxLength() const;
  /// Returns a number between 0 and `limit` in tokenizer_config.json.
  Result<int64_t> getNumber(std::string_view key, int64_t fallback,
                            int64_t limit) const;
};

/// The setting files in a folder; all of them may be absent.
struct SettingFiles {
  std::optional<NamedFile> config, specialTokens, addedTokens;
  /// Text is converted to lower case regardless of the class, as
  /// sentence-transformers does if its `do_lower_case` is true.
  bool lowersCase = false;
  /// Keys that take precedence over tokenizer_config.json, in a document that
  /// outlives the settings.
  std::optional<JsonValue> overrides = std::nullopt;
};

/// `serialized` is the folder's tokenizer.json, whose `added_tokens` come last.
Result<TokenizerSettings>
readTokenizerSettings(const SettingFiles &files,
                      std::optional<JsonValue> serialized = std::nullopt);

/// Prefixes an error with the name of a setting file, or else the vocabulary
/// file.
Error nameFile(Error error, const SettingFiles &files, std::string_view other);

} // namespace tokenizer
} // namespace transom
