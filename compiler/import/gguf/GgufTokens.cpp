// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Typed access to the tokenizer's metadata.
#include "compiler/import/gguf/GgufTokens.h"
#include "runtime/base/Utf8.h"
#include <cmath>
#include <unordered_map>

namespace transom::gguf {

static std::string getFullKey(const char *key) {
  return std::string("tokenizer.ggml.") + key;
}

const Value *TokenReader::find(const char *key) const {
  return file.find(getFullKey(key));
}

Error TokenReader::fail(const char *key, const Value &value,
                        const std::string &text, Status status) const {
  return file.error(value.offset(), "'" + getFullKey(key) + "' " + text,
                    status);
}

std::string TokenReader::getNotePrefix(const char *key) const {
  return getFileName(file.path()) + ": '" + getFullKey(key) + "' ";
}

static std::string expected(const Value &value, const char *what) {
  return "is " + std::string(describe(value.type())) + "; expected " + what;
}

Result<std::string> TokenReader::readText(const char *key) const {
  const Value *value = find(key);
  if (!value)
    return std::string();
  if (std::optional<std::string_view> text = value->asString())
    return std::string(*text);
  return fail(key, *value, expected(*value, "a string"));
}

Result<bool> TokenReader::readFlag(const char *key, bool absent) const {
  const Value *value = find(key);
  if (!value)
    return absent;
  if (std::optional<bool> flag = value->asBool())
    return *flag;
  return fail(key, *value, expected(*value, "a bool"));
}

Result<std::optional<int64_t>> TokenReader::readId(const char *key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<int64_t>();
  const std::optional<int64_t> id = value->asInt();
  if (!id)
    return fail(key, *value, expected(*value, "an integer"));
  return id;
}

Result<std::optional<std::vector<std::string>>>
TokenReader::readTexts(const char *key) const {
  const Value *value = find(key);
  if (!value)
    return std::optional<std::vector<std::string>>();
  if (!value->isArray() || value->elementType() != ValueType::String)
    return fail(key, *value, "is not an array of strings");
  std::vector<std::string> texts;
  for (const Value &element : value->asArray())
    texts.emplace_back(*element.asString());
  return std::optional(std::move(texts));
}

Result<std::vector<double>> TokenReader::readNumbers(const char *key,
                                                     size_t count) const {
  std::vector<double> numbers;
  const Value *value = find(key);
  if (!value)
    return numbers;
  if (!value->isArray() || value->count() != count)
    return fail(key, *value,
                value->isArray() ? "has " + std::to_string(value->count()) +
                                       " elements; expected one for each of " +
                                       std::to_string(count) + " tokens"
                                 : "is not an array");
  for (const Value &element : value->asArray()) {
    const std::optional<double> number = element.asNumber();
    if (!number || !std::isfinite(*number))
      return fail(key, element, "has an element that is not a finite number");
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<Token>> TokenReader::readTokens(int64_t vocabulary) const {
  const Value *list = find("tokens");
  // Arrays are copied only after their length has been checked.
  if (list && list->count() > static_cast<uint64_t>(vocabulary))
    return fail("tokens", *list,
                "has " + std::to_string(list->count()) +
                    " tokens, but 'token_embd.weight' has " +
                    std::to_string(vocabulary) + " rows");
  TRANSOM_ASSIGN(auto texts, readTexts("tokens"));
  if (!texts)
    return rejected(utf8::printable(file.path(), 400) +
                    ": missing key 'tokenizer.ggml.tokens'");
  TRANSOM_ASSIGN(const std::vector<double> types,
                 readNumbers("token_type", texts->size()));
  TRANSOM_ASSIGN(const std::vector<double> scores,
                 readNumbers("scores", texts->size()));
  std::vector<Token> tokens;
  std::unordered_map<std::string, size_t> ids;
  for (size_t i = 0; i < texts->size(); ++i) {
    Token token;
    token.text = (*texts)[i].empty() ? "[EMPTY_" + std::to_string(i) + "]"
                                     : std::move((*texts)[i]);
    if (!types.empty() && types[i] >= 0 && types[i] <= 6)
      token.type = static_cast<TokenType>(static_cast<int>(types[i]));
    token.score = scores.empty() ? 0 : scores[i];
    if (auto [at, isNew] = ids.emplace(token.text, i); !isNew)
      return fail("tokens", *list,
                  "has '" + utf8::printable(token.text) + "' twice, as " +
                      std::to_string(at->second) + " and " + std::to_string(i));
    tokens.push_back(std::move(token));
  }
  return tokens;
}

} // namespace transom::gguf
