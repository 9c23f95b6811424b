// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ids are those of vocab.json. A piece that is not there keeps its score, so
// that text is cut as SentencePiece cuts it, and has an id after the last one,
// which encoding gives as the unknown token. Tokens of vocab.json that are no
// pieces are never cut from text, but unknown characters together can be one.
#include "compiler/import/tokenizer/ImportMarian.h"
#include "compiler/import/tokenizer/CharacterMap.h"
#include "compiler/import/tokenizer/Regex.h"
#include "compiler/import/tokenizer/SentencePiece.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace transom {

using namespace tokenizer;

static constexpr const char *space = "\u2581";
/// How much lower the score of an unknown character is than any piece's.
static constexpr float unknownPenalty = 10;

//===-- Pieces ------------------------------------------------------------===//

static Result<void> checkSupported(const SentencePieceModel &model) {
  const std::pair<bool, const char *> wrong[] = {
      {model.model != PieceModel::Unigram, "a model that is not Unigram"},
      {model.byteFallback, "byte fallback"},
      {model.spaceAfterWord, "spaces that belong to the word before them"},
      {!model.escapeWhitespaces, "spaces that are not escaped"}};
  for (auto &[isWrong, what] : wrong)
    if (isWrong)
      return unsupported(std::string("unsupported SentencePiece model with ") +
                         what);
  return {};
}

/// Adds the pieces to the tokens of vocab.json, and scores of all.
static Result<void> addPieces(const SentencePieceModel &model, Draft &draft) {
  const size_t known = draft.entries.size();
  draft.scores.assign(known, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::pair<std::string_view, uint32_t>> further;
  float least = std::numeric_limits<float>::max();
  size_t shared = 0;
  for (const Piece &piece : model.pieces) {
    if (piece.type == PieceType::UserDefined)
      return unsupported("unsupported SentencePiece model with the symbol " +
                         quoted(piece.text) + " of its user");
    if (piece.type != PieceType::Normal)
      continue;
    if (!std::isfinite(piece.score))
      return rejected("piece " + quoted(piece.text) + " has no finite score");
    least = std::min(least, piece.score);
    if (const uint32_t *id = findToken(draft, piece.text)) {
      if (!std::isnan(draft.scores[*id]))
        return rejected("piece " + quoted(piece.text) + " comes twice");
      draft.scores[*id] = piece.score;
      ++shared;
      continue;
    }
    further.push_back({piece.text, static_cast<uint32_t>(draft.scores.size())});
    draft.scores.push_back(piece.score);
  }
  if (shared == 0)
    return rejected("none of its pieces is in the vocabulary");
  draft.scores.push_back(least - unknownPenalty);

  // The tokens stay sorted by text.
  auto &tokens = draft.modelTokens;
  tokens.insert(tokens.end(), further.begin(), further.end());
  std::sort(tokens.begin(), tokens.end());
  for (size_t i = 1; i < tokens.size(); ++i)
    if (tokens[i].first == tokens[i - 1].first)
      return rejected("piece " + quoted(tokens[i].first) + " comes twice");
  return {};
}

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

static Result<void> readPieces(const NamedFile &file, Draft &draft) {
  auto read = [&]() -> Result<void> {
    TRANSOM_ASSIGN(SentencePieceModel model, readSentencePiece(file.bytes));
    TRANSOM_TRY(checkSupported(model));
    TRANSOM_TRY(addPieces(model, draft));
    return addNormalizer(model, draft);
  };
  Result<void> done = read();
  if (done)
    return {};
  Error error = done.takeError();
  error.message = file.name + ": " + error.message;
  return error;
}

//===-- Vocabulary --------------------------------------------------------===//

/// The tokens that texts contain as they are, and that end a text.
static Result<void> addSpecialTokens(JsonValue root, Draft &draft) {
  for (const char *name : {"</s>", "<unk>", "<pad>"}) {
    const uint32_t *id = findToken(draft, name);
    if (!id)
      return root.error("special token '" + std::string(name) +
                        "' is not in the vocabulary");
    DraftAdded token;
    token.id = *id;
    token.content = token.pattern = token.shown = name;
    draft.added.push_back(token);
    draft.entries[*id].special = true;
  }
  draft.parameters.unknownId = draft.added[1].id;
  const TemplateItem end{TemplateItemKind::Token, draft.added[0].id, 0};
  const TemplateItem first{TemplateItemKind::SequenceA, 0, 0};
  const TemplateItem second{TemplateItemKind::SequenceB, 0, 0};
  draft.single = {first, end};
  draft.pair = {first, second, end};
  return {};
}

static Result<void> readVocabulary(JsonValue root, Draft &draft) {
  TRANSOM_TRY(readTokens(root, draft));
  const size_t size = draft.entries.size();
  if (size == 0 || draft.entries.back().id != size - 1)
    return root.error("unsupported ids with holes: " + std::to_string(size) +
                          " tokens, and the largest id is " +
                          std::to_string(size ? draft.entries.back().id : 0),
                      Status::Unsupported);
  return addSpecialTokens(root, draft);
}

static void addDecoder(Draft &draft) {
  Step &replace = addStep(draft, DecoderStep::Replace);
  replace.first = draft.addStepText(space);
  replace.second = draft.addStepText(" ");
  addStep(draft, DecoderStep::Fuse);
  addStep(draft, DecoderStep::StripWhitespace);
}

Result<ImportedTokenizer> importMarianTokenizer(const NamedFile &pieces,
                                                const NamedFile &vocabulary) {
  TRANSOM_ASSIGN(auto document, parseJson(vocabulary.bytes, vocabulary.name));
  Draft draft;
  draft.parameters.model = ModelKind::Unigram;
  draft.parameters.flags = SingleScores | LanguageCodes;
  draft.parameters.truncationStrategy = TruncationStrategy::LongestFirst;
  draft.parameters.truncationSide = TruncationSide::Right;
  TRANSOM_TRY(readVocabulary(document.root(), draft));
  TRANSOM_TRY(readPieces(pieces, draft));
  addDecoder(draft);
  draft.parameters.idEnd = static_cast<uint32_t>(draft.entries.size());
  ImportedTokenizer result;
  TRANSOM_ASSIGN(result.tables, writeTables(draft));
  return result;
}

} // namespace transom
