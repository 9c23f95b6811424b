// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens of a model, and its kind.
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/Steps.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <tuple>

namespace transom::tokenizer {

std::string quoted(std::string_view text) {
  return "'" + utf8::printable(text) + "'";
}

Result<void> readTokens(JsonValue vocabulary, Draft &draft) {
  TRANSOM_TRY(vocabulary.expectObject());
  draft.entries.reserve(vocabulary.size());
  draft.modelTokens.reserve(vocabulary.size());
  for (auto member : vocabulary.members()) {
    TRANSOM_ASSIGN(auto id, member.value.asInt(0, idLimit - 1));
    uint32_t number = static_cast<uint32_t>(id);
    draft.entries.push_back({number, std::string(member.key), false});
    draft.modelTokens.push_back({member.key, number});
  }
  std::sort(draft.entries.begin(), draft.entries.end(),
            [](const DraftEntry &a, const DraftEntry &b) {
              return std::tie(a.id, a.text) < std::tie(b.id, b.text);
            });
  std::sort(draft.modelTokens.begin(), draft.modelTokens.end());
  for (size_t i = 1; i < draft.entries.size(); ++i)
    if (draft.entries[i].id == draft.entries[i - 1].id)
      return vocabulary.find(draft.entries[i].text)
          ->error("id " + std::to_string(draft.entries[i].id) +
                  " is that of token " + quoted(draft.entries[i - 1].text) +
                  " too");
  return {};
}

const uint32_t *findToken(const Draft &draft, std::string_view text) {
  auto found =
      std::lower_bound(draft.modelTokens.begin(), draft.modelTokens.end(), text,
                       [](const auto &token, std::string_view text) {
                         return token.first < text;
                       });
  if (found == draft.modelTokens.end() || found->first != text)
    return nullptr;
  return &found->second;
}

Result<std::string_view> readModelType(JsonValue model) {
  TRANSOM_TRY(model.expectObject());
  if (!model.find("type") && model.find("max_input_chars_per_word"))
    return std::string_view("WordPiece");
  if (!model.find("type") && model.find("merges"))
    return std::string_view("BPE");
  if (!model.find("type") && model.find("unk_id"))
    return std::string_view("Unigram");
  return readType(model);
}

static Result<void> readWordPiece(JsonValue model, Draft &draft) {
  TRANSOM_ASSIGN(auto limit, model.get("max_input_chars_per_word"));
  TRANSOM_ASSIGN(auto characters, limit.asUint());
  TRANSOM_ASSIGN(auto prefixValue, model.get("continuing_subword_prefix"));
  TRANSOM_ASSIGN(auto prefix, prefixValue.asString());
  TRANSOM_ASSIGN(auto unknownValue, model.get("unk_token"));
  TRANSOM_ASSIGN(auto unknown, unknownValue.asString());
  TRANSOM_ASSIGN(auto vocabulary, model.get("vocab"));
  TRANSOM_TRY(readTokens(vocabulary, draft));
  const uint32_t *unknownId = findToken(draft, unknown);
  if (!unknownId)
    return unknownValue.error("unknown token " + quoted(unknown) +
                              " is not in the vocabulary");
  draft.continuingPrefix = prefix;
  draft.parameters.model = ModelKind::WordPiece;
  draft.parameters.unknownId = *unknownId;
  draft.parameters.maxWordCharacters =
      static_cast<uint32_t>(std::min<uint64_t>(characters, UINT32_MAX));
  return {};
}

static Result<void> readWordLevel(JsonValue model, Draft &draft) {
  TRANSOM_ASSIGN(auto unknown, readText(model, "unk_token"));
  TRANSOM_ASSIGN(auto vocabulary, model.get("vocab"));
  TRANSOM_TRY(readTokens(vocabulary, draft));
  const uint32_t *unknownId = findToken(draft, unknown);
  draft.parameters.model = ModelKind::WordLevel;
  draft.parameters.unknownId = unknownId ? *unknownId : Trie::none;
  return {};
}

Result<void> readModel(JsonValue model, Draft &draft) {
  TRANSOM_ASSIGN(auto type, readModelType(model));
  if (type == "WordPiece")
    return readWordPiece(model, draft);
  if (type == "BPE")
    return readBpe(model, draft);
  if (type == "Unigram")
    return readUnigram(model, draft);
  if (type == "WordLevel")
    return readWordLevel(model, draft);
  return unsupportedType(model, "tokenizer model", type,
                         "BPE, Unigram, WordLevel, WordPiece");
}

} // namespace transom::tokenizer
