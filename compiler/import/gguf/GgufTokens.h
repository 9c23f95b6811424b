// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GGUF tokens with their types, and the token ids with a role.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include <optional>
#include <string>
#include <vector>

namespace transom::gguf {

/// Token type, with the type ids used in files.
enum class TokenType {
  Undefined,
  Normal,
  Unknown,
  Control,
  UserDefined,
  Unused,
  Byte
};

struct Token {
  std::string text;
  TokenType type = TokenType::Normal;
  double score = 0;
};

/// The metadata `tokenizer.ggml.*`.
class TokenReader {
public:
  explicit TokenReader(const File &file) : file(file) {}

  /// Returns all tokens by id, without duplicates. A token without a string
  /// gets a generated name.
  Result<std::vector<Token>> readTokens(int64_t vocabulary) const;
  /// Returns a string; empty if the key is absent.
  Result<std::string> readText(const char *key) const;
  Result<bool> readFlag(const char *key, bool absent) const;
  /// Returns a token id, which may be outside the vocabulary; nullopt if the
  /// key is absent.
  Result<std::optional<int64_t>> readId(const char *key) const;
  /// Returns a list of strings; nullopt if the key is absent.
  Result<std::optional<std::vector<std::string>>>
  readTexts(const char *key) const;
  Error fail(const char *key, const Value &value, const std::string &text,
             Status status = Status::Rejected) const;
  const Value *find(const char *key) const;
  /// Returns the prefix for notes on a key.
  std::string getNotePrefix(const char *key) const;

private:
  /// Returns a list with one number for each token; empty if the key is absent.
  Result<std::vector<double>> readNumbers(const char *key, size_t count) const;

  const File &file;
};

} // namespace transom::gguf
