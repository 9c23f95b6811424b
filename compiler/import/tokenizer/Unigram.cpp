// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unigram model: a list of tokens with scores. A token's id is its index; if a
// token occurs twice, only the last one is found in text.
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include <algorithm>
#include <limits>

namespace transom::tokenizer {

/// Difference between the lowest token score and an unknown character's score.
static constexpr double unknownPenalty = 10;

static Result<void> readToken(JsonValue value, Draft &draft) {
  if (!value.isArray() || value.size() != 2)
    return value.error("expected a token and its score");
  TRANSOM_ASSIGN(auto text, value[0].asString());
  TRANSOM_ASSIGN(auto score, value[1].asDouble());
  uint32_t id = static_cast<uint32_t>(draft.entries.size());
  draft.entries.push_back({id, std::string(text), false});
  draft.modelTokens.push_back({text, id});
  draft.scores.push_back(score);
  return {};
}

void finishScores(Draft &draft, std::optional<double> leastScore) {
  auto &tokens = draft.modelTokens;
  // Keep the last of several equal strings.
  std::sort(tokens.begin(), tokens.end(), [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  tokens.erase(std::unique(tokens.begin(), tokens.end(),
                           [](const auto &a, const auto &b) {
                             return a.first == b.first;
                           }),
               tokens.end());
  double least = std::numeric_limits<double>::infinity();
  for (double score : draft.scores)
    least = std::min(least, score);
  draft.scores.push_back(leastScore.value_or(least) - unknownPenalty);
}

static Result<void> readUnknown(JsonValue model, Draft &draft) {
  auto value = model.find("unk_id");
  draft.parameters.unknownId = Trie::none;
  if (!value || value->isNull())
    return {};
  TRANSOM_ASSIGN(auto id, value->asInt(0, idLimit - 1));
  if (static_cast<size_t>(id) >= draft.entries.size())
    return value->error("unknown token " + std::to_string(id) +
                        " is not in the vocabulary of " +
                        std::to_string(draft.entries.size()) + " tokens");
  draft.parameters.unknownId = static_cast<uint32_t>(id);
  return {};
}

Result<void> readScoredTokens(JsonValue model, Draft &draft) {
  return readEach(model, "vocab",
                  [&](JsonValue value) { return readToken(value, draft); });
}

Result<void> readUnigram(JsonValue model, Draft &draft) {
  draft.parameters.model = ModelKind::Unigram;
  TRANSOM_TRY(readScoredTokens(model, draft));
  TRANSOM_TRY(readUnknown(model, draft));
  TRANSOM_ASSIGN(auto fallback, readFlag(model, "byte_fallback", false));
  // Files created by the GGUF importer contain the score; others have no such
  // key.
  std::optional<double> least;
  if (auto value = model.find("least_score")) {
    TRANSOM_ASSIGN(least, value->asDouble());
  }
  finishScores(draft, least);
  if (fallback) {
    draft.parameters.flags |= ByteFallback;
    addByteTokens(draft);
  }
  return {};
}

} // namespace transom::tokenizer
