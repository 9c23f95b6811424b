// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens of a GGUF file with their types, and the ids that have a role.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include <optional>
#include <string>
#include <vector>

namespace transom::gguf {

/// What a token is, with the numbers of the file.
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

  /// All tokens by id, none twice. A token without text gets a name.
  Result<std::vector<Token>> readTokens(int64_t vocabulary) const;
  /// A text; empty without the key.
  Result<std::string> readText(const char *key) const;
  Result<bool> readFlag(const char *key, bool absent) const;
  /// An id of a token, which may be outside of the vocabulary; nothing without
  /// the key.
  Result<std::optional<int64_t>> readId(const char *key) const;
  /// A list of texts; nothing without the key.
  Result<std::optional<std::vector<std::string>>>
  readTexts(const char *key) const;
  Error fail(const char *key, const Value &value, const std::string &text,
             Status status = Status::Rejected) const;
  const Value *find(const char *key) const;
  /// What a note on a key says before the text.
  std::string getNotePrefix(const char *key) const;

private:
  /// A list of numbers, one for each token; empty without the key.
  Result<std::vector<double>> readNumbers(const char *key, size_t count) const;

  const File &file;
};

} // namespace transom::gguf
