// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// SentencePiece tokenizers, whose scores determine the merge order, and
// WordPiece tokenizers.
#include "compiler/import/gguf/GgufTokenizerMaker.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace transom::gguf {

Result<void> TokenizerMaker::makePieces() {
  TRANSOM_TRY(readBoundaries(true, false));
  TRANSOM_ASSIGN(const bool prefix, reader.readFlag("add_space_prefix", true));
  // Write the normalizer, template and decoder.
  beginFile();
  json.key("normalizer");
  json.beginObject();
  json.member("type", "Sequence");
  json.key("normalizers");
  json.beginArray();
  if (prefix)
    writePrepend();
  writeReplace(" ", spaceMark);
  json.endArray();
  json.endObject();
  writeTemplate(first, 1);
  writePieceDecoder(prefix);
  // Write the BPE model; its merges follow from the scores.
  json.key("model");
  json.beginObject();
  json.member("type", "BPE");
  if (std::optional<int64_t> unknown = getRole("unk"))
    json.member("unk_token", tokens[*unknown].text);
  json.member("fuse_unk", true);
  json.member("byte_fallback", true);
  writeVocabulary();
  writeMergesOfScores();
  json.endObject();
  json.endObject();
  return {};
}

void TokenizerMaker::writePrepend() {
  json.beginObject();
  json.member("type", "Prepend");
  json.member("prepend", spaceMark);
  json.endObject();
}

void TokenizerMaker::writeReplace(std::string_view from, std::string_view to) {
  json.beginObject();
  json.member("type", "Replace");
  writePattern("String", std::string(from));
  json.member("content", to);
  json.endObject();
}

void TokenizerMaker::writePieceDecoder(bool prefix) {
  json.key("decoder");
  json.beginObject();
  json.member("type", "Sequence");
  json.key("decoders");
  json.beginArray();
  writeReplace(spaceMark, " ");
  for (const char *type : {"ByteFallback", "Fuse"}) {
    json.beginObject();
    json.member("type", type);
    json.endObject();
  }
  if (prefix) {
    json.beginObject();
    json.member("type", "Strip");
    json.member("content", " ");
    json.member("start", 1);
    json.member("stop", 0);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

void TokenizerMaker::writeMergesOfScores() {
  struct Merge {
    std::string_view left, right;
    double score;
    size_t whole, leftId, rightId, leftLength, rightLength;

    auto getKey() const {
      return std::tuple(-score, ~leftLength, ~rightLength, whole, leftId,
                        rightId);
    }
  };
  // Find all pairs of pieces whose concatenation is a piece.
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i].type == TokenType::Normal ||
        tokens[i].type == TokenType::UserDefined)
      ids.emplace(tokens[i].text, i);
  std::vector<Merge> merges;
  for (const auto &[piece, id] : ids)
    for (size_t at = 0; at < piece.size();) {
      utf8::decode(piece, at);
      auto left = ids.find(piece.substr(0, at)),
           right = ids.find(piece.substr(at));
      if (at < piece.size() && left != ids.end() && right != ids.end())
        merges.push_back({left->first, right->first, tokens[id].score, id,
                          left->second, right->second,
                          utf8::length(left->first),
                          utf8::length(right->first)});
    }
  std::sort(merges.begin(), merges.end(), [](const Merge &a, const Merge &b) {
    return a.getKey() < b.getKey();
  });
  // Write them in merge order.
  json.key("merges");
  json.beginArray();
  for (const Merge &merge : merges) {
    json.beginArray();
    json.value(merge.left);
    json.value(merge.right);
    json.endArray();
  }
  json.endArray();
}

Result<void> TokenizerMaker::makeWordPiece() {
  first = getRole("bos");
  last = getRole("sep");
  if (!first || !last || !getRole("unk"))
    return reader.fail("model", *reader.find("model"),
                       "is 'bert', but there are too few tokens for "
                       "[CLS], [SEP] and [UNK]");
  std::vector<std::string> stored;
  // Convert the tokens from GGUF's word marks.
  for (Token &token : tokens) {
    stored.push_back(token.text);
    token.text = getWordPiece(token);
  }
  TRANSOM_TRY(checkWordPieces(stored));
  TRANSOM_ASSIGN(const bool lower,
                 reader.readFlag("normalizer.lowercase", !hasUpperCase()));
  // Write the normalizer and pre-tokenizer.
  beginFile();
  json.key("normalizer");
  json.beginObject();
  json.member("type", "BertNormalizer");
  json.member("clean_text", true);
  json.member("handle_chinese_chars", true);
  json.key("strip_accents");
  json.null();
  json.member("lowercase", lower);
  json.endObject();
  writeTyped("pre_tokenizer", "BertPreTokenizer");
  // Write the template, decoder and model.
  writeTemplate({}, 1);
  json.key("decoder");
  json.beginObject();
  json.member("type", "WordPiece");
  json.member("prefix", "##");
  json.member("cleanup", true);
  json.endObject();
  json.key("model");
  json.beginObject();
  json.member("type", "WordPiece");
  json.member("unk_token", tokens[*getRole("unk")].text);
  json.member("continuing_subword_prefix", "##");
  json.member("max_input_chars_per_word", 100);
  writeVocabulary();
  json.endObject();
  json.endObject();
  return {};
}

void TokenizerMaker::writeTyped(const char *key, const char *type) {
  json.key(key);
  json.beginObject();
  json.member("type", type);
  json.endObject();
}

std::string TokenizerMaker::getWordPiece(const Token &token) const {
  const auto id = static_cast<int64_t>(&token - tokens.data());
  if (token.type == TokenType::Control || token.type == TokenType::Unknown ||
      token.type == TokenType::UserDefined || isRole(id))
    return token.text;
  if (token.text.substr(0, spaceMark.size()) == spaceMark)
    return token.text.substr(spaceMark.size());
  return "##" + token.text;
}

Result<void>
TokenizerMaker::checkWordPieces(const std::vector<std::string> &stored) const {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (auto [at, isNew] = ids.emplace(tokens[i].text, i); !isNew)
      return reader.fail("tokens", *reader.find("tokens"),
                         "has '" + utf8::printable(stored[at->second]) +
                             "' and '" + utf8::printable(stored[i]) +
                             "', which are the same piece");
  return {};
}

bool TokenizerMaker::hasUpperCase() const {
  for (size_t i = 0; i < tokens.size(); ++i)
    for (char c : tokens[i].text)
      if (tokens[i].type == TokenType::Normal &&
          !isRole(static_cast<int64_t>(i)) && c >= 'A' && c <= 'Z')
        return true;
  return false;
}

} // namespace transom::gguf
