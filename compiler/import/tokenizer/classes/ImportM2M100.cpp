// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Added tokens have the ids given in the settings, as in transformers' Python
// classes.
#include "compiler/import/tokenizer/classes/ImportM2M100.h"
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/Vocabulary.h"
#include "compiler/import/tokenizer/VocabularyPieces.h"
#include "compiler/import/tokenizer/classes/Languages.h"
#include <algorithm>

namespace transom {

using namespace tokenizer;

namespace {
/// Creates the draft for one tokenizer.
class M2M100Importer {
public:
  M2M100Importer(const TokenizerSettings &settings, Draft &draft)
      : settings(settings), draft(draft) {}

  Result<void> run(const M2M100Files &files, JsonValue vocabulary) {
    TRANSOM_TRY(readVocabularyIds(vocabulary, files.model.source, draft));
    TRANSOM_TRY(addLanguages());
    TRANSOM_TRY(addSpecialTokens(vocabulary));
    TRANSOM_TRY(addVocabularyPieces(files.pieces, draft));
    addPieceDecoder(draft);
    TRANSOM_TRY(addCleanUp(settings, draft, /*isPython=*/true));
    return addTemplate();
  }

private:
  std::string getRole(const char *key, const char *fallback) const {
    const NamedToken *named = settings.find(key);
    return named && named->token ? named->token->content : fallback;
  }

  /// Adds another vocabulary token, with the next id.
  uint32_t addEntry(const std::string &text) {
    const uint32_t id = static_cast<uint32_t>(draft.entries.size());
    draft.ownTexts.push_back(text);
    draft.modelTokens.push_back({draft.ownTexts.back(), id});
    draft.entries.push_back({id, text, false});
    return id;
  }

  Result<void> addLanguages() {
    TRANSOM_ASSIGN(std::optional<std::string> codes,
                   settings.getText("language_codes"));
    auto add = [&](const char *name) {
      const std::string text = "__" + std::string(name) + "__";
      draft.languages.push_back({name, addEntry(text)});
    };
    if (!codes || *codes == "m2m100")
      std::for_each(std::begin(m2m100Languages), std::end(m2m100Languages),
                    add);
    else if (*codes == "wmt21")
      std::for_each(std::begin(wmt21Languages), std::end(wmt21Languages), add);
    else
      return unsupported("unsupported language codes " + quoted(*codes) +
                         "; supported: m2m100, wmt21");
    std::sort(draft.modelTokens.begin(), draft.modelTokens.end());
    return {};
  }

  /// Adds a token that is matched verbatim in texts.
  void addToken(const TokenSetting &setting, bool special) {
    for (const DraftAdded &known : draft.added)
      if (known.content == setting.content)
        return;
    uint32_t id;
    if (setting.id && *setting.id < draft.entries.size())
      id = *setting.id;
    else if (const uint32_t *known = findToken(draft, setting.content))
      id = *known;
    else {
      id = addEntry(setting.content);
      std::sort(draft.modelTokens.begin(), draft.modelTokens.end());
    }
    DraftAdded token;
    token.id = id;
    token.flags = (setting.singleWord ? SingleWord : 0) |
                  (setting.leftStrip ? LeftStrip : 0) |
                  (setting.rightStrip ? RightStrip : 0);
    token.content = token.pattern = token.shown = setting.content;
    draft.added.push_back(token);
    draft.entries[id].text = setting.content;
    draft.entries[id].special = special || setting.special;
  }

  Result<void> addSpecialTokens(JsonValue vocabulary) {
    const std::string unknown = getRole("unk_token", "<unk>");
    const uint32_t *id = findToken(draft, unknown);
    if (!id)
      return vocabulary.error("special token " + quoted(unknown) +
                              " is not in the vocabulary");
    draft.parameters.unknownId = *id;
    for (const TokenSetting &token : settings.added)
      addToken(token, false);
    const std::pair<const char *, const char *> roles[] = {
        {"bos_token", "<s>"},   {"eos_token", "</s>"},  {"unk_token", "<unk>"},
        {"sep_token", "</s>"},  {"pad_token", "<pad>"}, {"cls_token", nullptr},
        {"mask_token", nullptr}};
    for (auto &[key, fallback] : roles) {
      const NamedToken *named = settings.find(key);
      TokenSetting token;
      if (named && named->token)
        token = *named->token;
      else if (!named && fallback)
        token.content = fallback;
      else
        continue;
      addToken(token, true);
    }
    for (const TokenSetting &token :
         settings.extra ? *settings.extra : settings.additional)
      addToken(token, true);
    std::sort(
        draft.added.begin(), draft.added.end(),
        [](const DraftAdded &a, const DraftAdded &b) { return a.id < b.id; });
    return {};
  }

  /// Adds the source language, the text and the end token.
  Result<void> addTemplate() {
    TRANSOM_ASSIGN(std::optional<std::string> given,
                   settings.getText("src_lang"));
    const std::string name = given.value_or("en");
    auto language = std::find_if(
        draft.languages.begin(), draft.languages.end(),
        [&](const DraftLanguage &each) { return each.name == name; });
    if (language == draft.languages.end())
      return rejected("source language " + quoted(name) +
                      " is not one of the tokenizer's");
    const uint32_t *endId = findToken(draft, getRole("eos_token", "</s>"));
    const TemplateItem code{TemplateItemKind::Token, language->id, 0};
    const TemplateItem end{TemplateItemKind::Token,
                           endId ? *endId : draft.parameters.unknownId, 0};
    const TemplateItem first{TemplateItemKind::SequenceA, 0, 0};
    const TemplateItem second{TemplateItemKind::SequenceB, 0, 0};
    draft.single = {code, first, end};
    draft.pair = {code, first, second, end};
    findLanguages(draft);
    return {};
  }

  const TokenizerSettings &settings;
  Draft &draft;
};
} // namespace

Result<ImportedTokenizer> importM2M100Tokenizer(const M2M100Files &files) {
  TRANSOM_ASSIGN(auto document,
                 parseJson(files.vocabulary.bytes, files.vocabulary.name));
  TRANSOM_ASSIGN(TokenizerSettings settings,
                 readTokenizerSettings(files.settings));
  Draft draft;
  draft.parameters.truncationStrategy = TruncationStrategy::LongestFirst;
  draft.parameters.truncationSide = TruncationSide::Right;
  TRANSOM_TRY(M2M100Importer(settings, draft).run(files, document.root()));
  ImportedTokenizer result;
  TRANSOM_ASSIGN(result.tables, writeTables(draft));
  return result;
}

} // namespace transom
