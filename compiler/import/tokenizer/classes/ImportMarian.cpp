// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target language has its own tokenizer, which shares the vocabulary unless
// the folder has two.
#include "compiler/import/tokenizer/classes/ImportMarian.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/VocabularyPieces.h"

namespace transom {

using namespace tokenizer;

/// Adds the tokens that are matched verbatim, and the end token.
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

/// `idEnd` is the model's id count for these texts.
static Result<std::string> makeTables(const NamedFile &pieces,
                                      const NamedFile &vocabulary,
                                      const TokenizerSettings &settings,
                                      int64_t idEnd, std::string target) {
  TRANSOM_ASSIGN(auto document, parseJson(vocabulary.bytes, vocabulary.name));
  Draft draft;
  draft.parameters.flags = LanguageCodes;
  draft.parameters.truncationStrategy = TruncationStrategy::LongestFirst;
  draft.parameters.truncationSide = TruncationSide::Right;
  TRANSOM_TRY(readVocabularyIds(document.root(), idEnd, draft));
  TRANSOM_TRY(addSpecialTokens(document.root(), draft));
  TRANSOM_TRY(addVocabularyPieces(pieces, draft));
  addPieceDecoder(draft);
  TRANSOM_TRY(addCleanUp(settings, draft, /*isPython=*/true));
  draft.target = std::move(target);
  return writeTables(draft);
}

Result<ImportedTokenizer> importMarianTokenizer(const MarianFiles &files) {
  TRANSOM_ASSIGN(const TokenizerSettings settings,
                 readTokenizerSettings(files.settings));
  std::string target;
  const NamedFile *targetVocabulary =
      files.targetVocabulary ? &*files.targetVocabulary : &files.vocabulary;
  const NamedFile *targetPieces =
      files.targetPieces ? &*files.targetPieces : &files.pieces;
  if (targetVocabulary->bytes != files.vocabulary.bytes ||
      targetPieces->bytes != files.pieces.bytes) {
    const int64_t idEnd =
        files.targetVocabulary ? files.model.target : files.model.source;
    TRANSOM_ASSIGN(target, makeTables(*targetPieces, *targetVocabulary,
                                      settings, idEnd, {}));
  }
  ImportedTokenizer result;
  TRANSOM_ASSIGN(result.tables,
                 makeTables(files.pieces, files.vocabulary, settings,
                            files.model.source, std::move(target)));
  return result;
}

} // namespace transom
