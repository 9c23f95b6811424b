// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids come from the vocabulary. A piece that is not in it keeps its score, so
// that text is split as in SentencePiece, and has an id after the last one,
// which encoding returns as the unknown token. Vocabulary tokens that are not
// pieces never result from splitting, but a sequence of unknown characters can
// be one.
#include "compiler/import/tokenizer/VocabularyPieces.h"
#include "compiler/import/tokenizer/CharacterMap.h"
#include "compiler/import/tokenizer/SentencePiece.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/regex/Regex.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace transom::tokenizer {

static constexpr const char *space = "\u2581";
/// Difference between the lowest piece score and an unknown character's score.
static constexpr float unknownPenalty = 10;

static Result<void> checkSupported(const SentencePieceModel &model) {
  const std::pair<bool, const char *> wrong[] = {
      {model.model != PieceModel::Unigram && model.model != PieceModel::Bpe,
       "a model that is neither Unigram nor BPE"},
      {model.byteFallback, "byte fallback"},
      {model.spaceAfterWord, "spaces that belong to the word before them"},
      {!model.escapeWhitespaces, "spaces that are not escaped"}};
  for (auto &[isWrong, what] : wrong)
    if (isWrong)
      return unsupported(std::string("unsupported SentencePiece model with ") +
                         what);
  return {};
}

namespace {
/// Adds a model's pieces to a vocabulary's tokens.
class PieceAdder {
public:
  PieceAdder(const SentencePieceModel &model, Draft &draft)
      : model(model), draft(draft) {}

  Result<void> run() {
    TRANSOM_TRY(addAll());
    return model.model == PieceModel::Bpe ? finishBpe() : finishUnigram();
  }

private:
  /// Finds or creates each piece's id, and records its score.
  Result<void> addAll() {
    scores.assign(draft.entries.size(),
                  std::numeric_limits<double>::quiet_NaN());
    std::vector<std::pair<std::string_view, uint32_t>> further;
    size_t shared = 0;
    for (const Piece &piece : model.pieces) {
      if (piece.type == PieceType::UserDefined)
        return unsupported("unsupported SentencePiece model with the symbol " +
                           quoted(piece.text) + " of its user");
      if (piece.type != PieceType::Normal)
        continue;
      if (!std::isfinite(piece.score))
        return rejected("piece " + quoted(piece.text) + " has no finite score");
      if (const uint32_t *id = findToken(draft, piece.text)) {
        if (!std::isnan(scores[*id]))
          return rejected("piece " + quoted(piece.text) + " comes twice");
        scores[*id] = piece.score;
        ++shared;
        continue;
      }
      further.push_back({piece.text, static_cast<uint32_t>(scores.size())});
      scores.push_back(piece.score);
    }
    if (shared == 0)
      return rejected("none of its pieces is in the vocabulary" +
                      (further.empty()
                           ? std::string()
                           : ", such as " + quoted(further.front().first)));

    // Keep the tokens sorted by string.
    auto &tokens = draft.modelTokens;
    tokens.insert(tokens.end(), further.begin(), further.end());
    std::sort(tokens.begin(), tokens.end());
    for (size_t i = 1; i < tokens.size(); ++i)
      if (tokens[i].first == tokens[i - 1].first)
        return rejected("piece " + quoted(tokens[i].first) + " comes twice");
    return {};
  }

  Result<void> finishUnigram() {
    draft.parameters.model = ModelKind::Unigram;
    draft.parameters.flags |= SingleScores;
    float least = std::numeric_limits<float>::max();
    for (double score : scores)
      if (!std::isnan(score))
        least = std::min(least, static_cast<float>(score));
    scores.push_back(least - unknownPenalty);
    draft.scores = std::move(scores);
    return {};
  }

  /// Any two symbols that form a piece merge, in descending score order. Tokens
  /// that are not pieces never result from splitting.
  Result<void> finishBpe() {
    draft.parameters.model = ModelKind::Bpe;
    draft.parameters.flags |= FuseUnknown;
    auto isPiece = [&](const std::pair<std::string_view, uint32_t> &token) {
      return !std::isnan(scores[token.second]);
    };
    std::vector<std::pair<std::string_view, uint32_t>> pieces;
    std::copy_if(draft.modelTokens.begin(), draft.modelTokens.end(),
                 std::back_inserter(pieces), isPiece);
    std::sort(pieces.begin(), pieces.end(), [&](const auto &a, const auto &b) {
      return scores[a.second] > scores[b.second];
    });
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto &[text, id] = pieces[i];
      if (i > 0 && scores[id] == scores[pieces[i - 1].second])
        return unsupported("unsupported SentencePiece model of kind BPE in "
                           "which pieces " +
                           quoted(pieces[i - 1].first) + " and " +
                           quoted(text) + " have one score");
      addMerges(text, id);
    }
    draft.scores = std::move(scores);
    return {};
  }

  /// Adds the pairs that form a piece.
  void addMerges(std::string_view text, uint32_t id) {
    bool first = true;
    for (size_t at = 0; at < text.size();) {
      utf8::decode(text, at);
      const uint32_t *left = findToken(draft, text.substr(0, at));
      const uint32_t *right = findToken(draft, text.substr(at));
      if (!left || !right || std::isnan(scores[*left]) ||
          std::isnan(scores[*right]))
        continue;
      draft.merges.push_back({*left, *right, id, !first});
      first = false;
    }
  }

  const SentencePieceModel &model;
  Draft &draft;
  std::vector<double> scores; ///< by id, NaN for a token that is not a piece
};
} // namespace

static Result<void> addNormalizer(const SentencePieceModel &model,
                                  Draft &draft) {
  if (!model.characterMap.empty()) {
    TRANSOM_ASSIGN(CharacterMap map,
                   readCharacterMap(model.characterMap, MapKeys::All));
    Step &step = addStep(draft, NormalizerStep::MapCharacters);
    step.option = 1;
    step.first = draft.addStepText(map.trie);
    step.second = draft.addStepText(map.strings);
  }
  if (model.removeExtraWhitespaces)
    addStep(draft, NormalizerStep::CollapseSpaces);
  if (model.addDummyPrefix)
    addStep(draft, NormalizerStep::Prepend).first = draft.addStepText(space);
  Step &step = addStep(draft, NormalizerStep::Replace);
  step.first = draft.addStepText(*compileLiteral(" "));
  step.second = draft.addStepText(space);
  return {};
}

Result<void> addVocabularyPieces(const NamedFile &file, Draft &draft) {
  auto read = [&]() -> Result<void> {
    TRANSOM_ASSIGN(SentencePieceModel model, readSentencePiece(file.bytes));
    TRANSOM_TRY(checkSupported(model));
    TRANSOM_TRY(PieceAdder(model, draft).run());
    return addNormalizer(model, draft);
  };
  Result<void> done = read();
  if (done)
    return {};
  Error error = done.takeError();
  error.message = file.name + ": " + error.message;
  return error;
}

Result<void> readVocabularyIds(JsonValue root, int64_t idEnd, Draft &draft) {
  TRANSOM_TRY(readTokens(root, draft));
  if (draft.entries.empty())
    return root.error("a vocabulary without tokens");
  int64_t before = -1;
  for (const DraftEntry &entry : draft.entries) {
    if (entry.id >= idEnd)
      return root.find(entry.text)
          ->error("id " + std::to_string(entry.id) +
                  " is not in the model's vocabulary of " +
                  std::to_string(idEnd) + " tokens");
    if (entry.id != before + 1)
      return root.find(entry.text)
          ->error("id " + std::to_string(entry.id) + ", but no token has id " +
                  std::to_string(before + 1));
    before = entry.id;
  }
  return {};
}

void addPieceDecoder(Draft &draft) {
  Step &replace = addStep(draft, DecoderStep::Replace);
  replace.first = draft.addStepText(space);
  replace.second = draft.addStepText(" ");
  addStep(draft, DecoderStep::Fuse);
  addStep(draft, DecoderStep::StripWhitespace);
}

} // namespace transom::tokenizer
