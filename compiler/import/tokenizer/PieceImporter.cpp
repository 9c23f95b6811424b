// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adds tokens in the same order as TokenizersBackend in transformers 5.
#include "compiler/import/tokenizer/PieceImporter.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/classes/Languages.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace transom::tokenizer {

//===-- tokenizer.json ----------------------------------------------------===//

Result<void> PieceImporter::takeSerialized(JsonValue root) {
  serialized = root;
  TRANSOM_ASSIGN(JsonValue model, root.get("model"));
  TRANSOM_ASSIGN(std::string_view type, readModelType(model));
  if (type == "Unigram") {
    TRANSOM_TRY(readScoredTokens(model, draft));
  } else {
    TRANSOM_ASSIGN(JsonValue tokens, model.get("vocab"));
    TRANSOM_TRY(readTokens(tokens, draft));
  }
  if (type == "BPE") {
    draft.parameters.model = ModelKind::Bpe;
    draft.parameters.unknownId = Trie::none;
    TRANSOM_TRY(readMerges(model, draft));
  }
  TRANSOM_ASSIGN(serializedMap, findCharacterMap(root.find("normalizer")));
  characterMap = serializedMap;
  return readTruncation(root.find("truncation"), draft.parameters);
}

bool PieceImporter::hasTemplate() const {
  auto value = serialized ? serialized->find("post_processor") : std::nullopt;
  return value && !value->isNull();
}

Result<void> PieceImporter::takeTemplate() {
  return readPostProcessor(serialized->find("post_processor"), draft);
}

Result<void> PieceImporter::takeAddedTokens(JsonValue root) {
  TRANSOM_ASSIGN(elements, readAddedElements(root.find("added_tokens")));
  return {};
}

//===-- Vocabulary --------------------------------------------------------===//

std::string PieceImporter::getRole(const char *key,
                                   const char *fallback) const {
  const NamedToken *named = settings.find(key);
  return named && named->token ? named->token->content : fallback;
}

void PieceImporter::addToken(std::string text, double score) {
  if (serialized)
    return;
  const uint32_t id = static_cast<uint32_t>(draft.entries.size());
  draft.ownTexts.push_back(text);
  draft.modelTokens.push_back({draft.ownTexts.back(), id});
  draft.entries.push_back({id, std::move(text), false});
  draft.scores.push_back(score);
}

void PieceImporter::addPieces(size_t from) {
  for (size_t i = from; i < pieces.size(); ++i)
    addToken(std::string(pieces[i].text), pieces[i].score);
}

void PieceImporter::addFairseqTokens(const char *first) {
  addToken(getRole(first, "<s>"), 0);
  addToken(getRole("pad_token", "<pad>"), 0);
  addToken(getRole("eos_token", "</s>"), 0);
  addToken(getRole("unk_token", "<unk>"), 0);
  addPieces(3);
}

size_t PieceImporter::findEntry(std::string_view text, size_t fallback) const {
  for (size_t i = 0; i < draft.entries.size(); ++i)
    if (draft.entries[i].text == text)
      return i;
  return fallback;
}

Result<void> PieceImporter::finishUnigram(size_t unknownId) {
  draft.parameters.model = ModelKind::Unigram;
  if (unknownId >= draft.entries.size())
    return rejected("unknown token " + std::to_string(unknownId) +
                    " is not in the vocabulary of " +
                    std::to_string(draft.entries.size()) + " tokens");
  draft.parameters.unknownId = static_cast<uint32_t>(unknownId);
  finishScores(draft);
  return {};
}

/// Adds all piece pairs that form a piece: in piece order, with the shortest
/// left part first.
void PieceImporter::addMerges() {
  std::unordered_map<std::string_view, uint32_t> ids;
  for (const Piece &piece : pieces)
    ids[piece.text] = *findToken(draft, piece.text);
  for (const Piece &piece : pieces)
    for (size_t at = 0; at < piece.text.size();) {
      utf8::decode(piece.text, at);
      auto left = ids.find(piece.text.substr(0, at));
      auto right = ids.find(piece.text.substr(at));
      if (left != ids.end() && right != ids.end())
        draft.merges.push_back(
            {left->second, right->second, ids.find(piece.text)->second});
    }
}

Result<void> PieceImporter::makeBpe(const std::vector<std::string> &first) {
  if (serialized)
    return {};
  draft.parameters.model = ModelKind::Bpe;
  for (const std::string &token : first) {
    if (findToken(draft, token))
      return rejected("token " + quoted(token) + " has two roles");
    addToken(token, 0);
    std::sort(draft.modelTokens.begin(), draft.modelTokens.end());
  }
  for (const Piece &piece : pieces)
    if (std::find(first.begin(), first.end(), piece.text) == first.end())
      addToken(std::string(piece.text), 0);
  std::sort(draft.modelTokens.begin(), draft.modelTokens.end());
  draft.scores.clear();
  addMerges();
  return {};
}

//===-- Steps -------------------------------------------------------------===//

/// Reads a part of a tokenizer.json that the class fixes.
static Result<void> readPart(const char *json,
                             Result<void> (*read)(JsonValue, Draft &),
                             Draft &draft) {
  TRANSOM_ASSIGN(JsonDocument document, parseJson(json, "tokenizer.json"));
  return read(document.root(), draft);
}

static Result<void> readStages(JsonValue value, Draft &draft) {
  return readDecoder(value, draft);
}

Result<void> PieceImporter::addMap() {
  return characterMap.empty() ? Result<void>()
                              : addCharacterMap(characterMap, draft);
}

Result<void> PieceImporter::addNormalizer(const char *json) {
  return readPart(json, readNormalizer, draft);
}

Result<void> PieceImporter::setSteps(const char *preTokenizer,
                                     const char *decoder) {
  TRANSOM_TRY(readPart(preTokenizer, readPreTokenizer, draft));
  return readPart(decoder, readStages, draft);
}

//===-- Added tokens and templates ----------------------------------------===//

Result<void> PieceImporter::setTruncationSide() {
  TruncationSide &side = draft.parameters.truncationSide;
  TRANSOM_ASSIGN(bool left,
                 settings.truncatesLeft(side == TruncationSide::Left));
  side = left ? TruncationSide::Left : TruncationSide::Right;
  return {};
}

void PieceImporter::addPieceTokens() {
  for (const Piece &piece : pieces)
    if (piece.type == PieceType::Control ||
        piece.type == PieceType::UserDefined) {
      TokenSetting token;
      token.content = piece.text;
      token.special = piece.type == PieceType::Control;
      token.normalized = false;
      extra.push_back(std::move(token));
    }
}

void PieceImporter::addSpecial(const std::string &text) {
  TokenSetting token;
  token.content = text;
  token.special = true;
  extra.push_back(std::move(token));
}

static AddedElement getElement(const TokenSetting &token, bool special) {
  AddedElement element;
  element.content = token.content;
  element.id = token.id;
  element.special = token.special || special;
  element.singleWord = token.singleWord;
  element.leftStrip = token.leftStrip;
  element.rightStrip = token.rightStrip;
  element.normalized = token.normalized.value_or(!element.special);
  element.value = token.value;
  return element;
}

/// Returns a token's flags followed by its string: equal for equal tokens.
static std::string getForm(const AddedElement &token) {
  std::string form;
  for (bool flag : {token.special, token.singleWord, token.leftStrip,
                    token.rightStrip, token.normalized})
    form += flag ? '1' : '0';
  return form.append(token.content);
}

/// Returns the tokens with a role, in the order of addition.
std::vector<NamedToken>
PieceImporter::getNamed(const std::vector<RoleDefault> &roles) const {
  std::vector<NamedToken> named;
  std::unordered_set<std::string> known;
  // The first token for each role is used.
  auto add = [&](const NamedToken &token) {
    if (known.insert(token.key).second)
      named.push_back(token);
  };
  // Add standard roles: tokens in the settings, with flags from the class.
  for (const char *key : {"bos_token", "eos_token", "unk_token", "sep_token",
                          "pad_token", "cls_token", "mask_token"}) {
    const NamedToken *given = settings.find(key);
    for (const RoleDefault &role : roles) {
      if (std::string_view(role.key) != key)
        continue;
      TokenSetting token;
      token.content =
          given && given->token ? given->token->content : role.token;
      token.leftStrip = role.leftStrip;
      token.normalized = role.normalized;
      if (!given || (given->token && given->token->isText))
        add({key, token});
    }
    if (given)
      add(*given);
  }
  // Add additional roles in the settings.
  for (const NamedToken &token : settings.named)
    add(token);
  return named;
}

std::vector<RoleDefault> getRobertaRoles(RoleDefault mask) {
  return {{"bos_token", "<s>"},
          {"eos_token", "</s>"},
          {"unk_token", "<unk>"},
          {"sep_token", "</s>"},
          {"pad_token", "<pad>"},
          {"cls_token", "<s>"},
          mask};
}

std::vector<RoleDefault> getBertRoles(const char *unknown,
                                      const char *padding) {
  return {{"bos_token", "[CLS]"},  {"eos_token", "[SEP]"},
          {"unk_token", unknown},  {"sep_token", "[SEP]"},
          {"pad_token", padding},  {"cls_token", "[CLS]"},
          {"mask_token", "[MASK]"}};
}

Result<void> PieceImporter::addTokens(const std::vector<RoleDefault> &roles) {
  const std::vector<NamedToken> named = getNamed(roles);
  std::unordered_set<std::string> roleTexts, fromFile, listed;
  for (const NamedToken &token : named)
    if (token.token)
      roleTexts.insert(token.token->content);
  auto hasRole = [&](const std::string &content) {
    return roleTexts.count(content) != 0;
  };

  // First the listed tokens, which may change tokens in the file.
  for (const AddedElement &element : elements)
    fromFile.insert(getForm(element));
  for (const TokenSetting &token : settings.added)
    if (fromFile.count(getForm(getElement(token, false))) == 0)
      elements.push_back(getElement(token, hasRole(token.content)));

  // Then tokens with a role, and additional ones.
  for (const AddedElement &element : elements)
    listed.insert(element.content);
  for (const NamedToken &token : named)
    if (token.token && listed.count(token.token->content) == 0)
      elements.push_back(getElement(*token.token, true));
  for (const TokenSetting &token : settings.extra ? *settings.extra : extra)
    if (listed.count(token.content) == 0)
      elements.push_back(getElement(token, hasRole(token.content)));
  TRANSOM_TRY(tokenizer::addTokens(elements, draft, notes));
  TRANSOM_ASSIGN(bool splits, settings.getFlag("split_special_tokens", false));
  if (splits)
    splitSpecial();
  return {};
}

/// Special tokens are not matched in text.
void PieceImporter::splitSpecial() {
  std::unordered_set<std::string> special;
  for (const AddedElement &element : elements)
    if (element.special)
      special.insert(element.content);
  for (DraftAdded &token : draft.added)
    if (special.count(token.content) != 0)
      token.searched = false;
}

Result<std::string> PieceImporter::finish(bool lowersCase) {
  // truncation=True selects this strategy, whatever tokenizer.json contains.
  draft.parameters.truncationStrategy = TruncationStrategy::LongestFirst;
  if (lowersCase)
    addLowercase(draft);
  findLanguages(draft);
  return writeTables(draft);
}

uint32_t PieceImporter::getId(std::string_view text) const {
  for (const DraftAdded &token : draft.added)
    if (token.content == text)
      return token.id;
  if (const uint32_t *id = findToken(draft, text))
    return *id;
  const std::string unknown = getRole("unk_token", "<unk>");
  return text == unknown ? draft.parameters.unknownId : getId(unknown);
}

void PieceImporter::addTemplate(const std::vector<uint32_t> &before,
                                const std::vector<uint32_t> &between,
                                const std::vector<uint32_t> &after) {
  auto add = [](std::vector<TemplateItem> &items,
                const std::vector<uint32_t> &ids) {
    for (uint32_t id : ids)
      items.push_back({TemplateItemKind::Token, id, 0});
  };
  for (auto *items : {&draft.single, &draft.pair}) {
    add(*items, before);
    items->push_back({TemplateItemKind::SequenceA, 0, 0});
    if (items == &draft.pair) {
      add(*items, between);
      items->push_back({TemplateItemKind::SequenceB, 0, 0});
    }
    add(*items, after);
  }
}

void PieceImporter::addTypedTemplate(uint32_t begin, uint32_t end) {
  draft.single = {{TemplateItemKind::Token, begin, 0},
                  {TemplateItemKind::SequenceA, 0, 0},
                  {TemplateItemKind::Token, end, 0}};
  draft.pair = draft.single;
  draft.pair.push_back({TemplateItemKind::SequenceB, 0, 1});
  draft.pair.push_back({TemplateItemKind::Token, end, 1});
}

void PieceImporter::addBoundaryTemplate(bool begins, bool ends) {
  for (auto *items : {&draft.single, &draft.pair})
    for (uint32_t text = 0; text < (items == &draft.pair ? 2u : 1u); ++text) {
      if (begins)
        items->push_back(
            {TemplateItemKind::Token, getRoleId("bos_token", "<s>"), text});
      items->push_back({text == 0 ? TemplateItemKind::SequenceA
                                  : TemplateItemKind::SequenceB,
                        0, text});
      if (ends)
        items->push_back(
            {TemplateItemKind::Token, getRoleId("eos_token", "</s>"), text});
    }
}

void PieceImporter::addLanguage(const char *code) {
  draft.languages.push_back({code, getId(code)});
}

Result<void> PieceImporter::addLanguageTemplate(const char *fallback,
                                                bool codeFirst) {
  TRANSOM_ASSIGN(std::optional<std::string> language,
                 settings.getText("src_lang"));
  const uint32_t code = getId(language.value_or(fallback));
  const uint32_t end = getRoleId("eos_token", "</s>");
  if (codeFirst)
    addTemplate({code}, {}, {end});
  else
    addTemplate({}, {}, {end, code});
  return {};
}

Result<ImportedTokenizer>
importByClass(const ClassFiles &files, Draft &draft,
              const std::function<Result<SentencePieceModel>()> &read,
              const std::function<Result<void>(PieceImporter &)> &make) {
  ImportedTokenizer result;
  auto import = [&]() -> Result<void> {
    TRANSOM_ASSIGN(TokenizerSettings settings,
                   readTokenizerSettings(files.settings, files.serialized));
    SentencePieceModel model;
    if (!files.serialized) {
      TRANSOM_ASSIGN(model, read());
    }
    PieceImporter importer(model, settings, draft, result.notes);
    if (files.serialized)
      TRANSOM_TRY(importer.takeSerialized(*files.serialized));
    TRANSOM_TRY(importer.setTruncationSide());
    TRANSOM_TRY(make(importer));
    TRANSOM_TRY(addCleanUp(settings, draft));
    TRANSOM_ASSIGN(result.tables, importer.finish(files.settings.lowersCase));
    return {};
  };
  if (Result<void> imported = import(); !imported)
    return nameFile(imported.takeError(), files.settings, files.vocabulary);
  return result;
}

} // namespace transom::tokenizer
