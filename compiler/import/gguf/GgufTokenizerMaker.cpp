// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json parts shared by all kinds.
#include "compiler/import/gguf/GgufTokenizerMaker.h"
#include <algorithm>

namespace transom::gguf {

void TokenizerMaker::beginFile() {
  json.beginObject();
  json.member("version", "1.0");
  json.key("added_tokens");
  json.beginArray();
  for (size_t i = 0; i < tokens.size(); ++i)
    if (isAdded(i))
      writeAdded(i);
  json.endArray();
}

bool TokenizerMaker::isAdded(size_t id) const {
  const TokenType type = tokens[id].type;
  return type == TokenType::Control || type == TokenType::UserDefined ||
         type == TokenType::Unknown || isRole(static_cast<int64_t>(id));
}

bool TokenizerMaker::isRole(int64_t id) const {
  return std::any_of(roles.begin(), roles.end(),
                     [&](const auto &role) { return role.second == id; });
}

void TokenizerMaker::writeAdded(size_t id) {
  json.beginObject();
  json.member("id", static_cast<int64_t>(id));
  json.member("content", tokens[id].text);
  for (const char *flag : {"single_word", "lstrip", "rstrip", "normalized"})
    json.member(flag, false);
  json.member("special", tokens[id].type != TokenType::UserDefined);
  json.endObject();
}

void TokenizerMaker::writeVocabulary() {
  json.key("vocab");
  json.beginObject();
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].type != TokenType::Unused)
      json.member(tokens[i].text, static_cast<int64_t>(i));
  json.endObject();
}

void TokenizerMaker::writeItem(const char *kind, const char *id, int type) {
  json.beginObject();
  json.key(kind);
  json.beginObject();
  json.member("id", id);
  json.member("type_id", type);
  json.endObject();
  json.endObject();
}

void TokenizerMaker::writeToken(std::optional<int64_t> id, int type) {
  if (id)
    writeItem("SpecialToken", tokens[*id].text.c_str(), type);
}

void TokenizerMaker::writeTemplate(std::optional<int64_t> between,
                                   int secondType) {
  json.key("post_processor");
  json.beginObject();
  json.member("type", "TemplateProcessing");
  // Template for one text.
  json.key("single");
  json.beginArray();
  writeToken(first, 0);
  writeItem("Sequence", "A", 0);
  writeToken(last, 0);
  json.endArray();
  // Template for two texts.
  json.key("pair");
  json.beginArray();
  writeToken(first, 0);
  writeItem("Sequence", "A", 0);
  writeToken(last, 0);
  writeToken(between, secondType);
  writeItem("Sequence", "B", secondType);
  writeToken(last, secondType);
  json.endArray();
  // List each special token once.
  json.key("special_tokens");
  json.beginObject();
  std::vector<int64_t> written;
  for (std::optional<int64_t> id : {first, last, between})
    if (id && std::find(written.begin(), written.end(), *id) == written.end()) {
      written.push_back(*id);
      json.key(tokens[*id].text);
      json.beginObject();
      json.member("id", tokens[*id].text);
      json.key("ids");
      json.array(std::vector<int64_t>{*id});
      json.key("tokens");
      json.array(std::vector<std::string>{tokens[*id].text});
      json.endObject();
    }
  json.endObject();
  json.endObject();
}

void TokenizerMaker::writePattern(const char *kind,
                                  const std::string &pattern) {
  json.key("pattern");
  json.beginObject();
  json.member(kind, pattern);
  json.endObject();
}

} // namespace transom::gguf
