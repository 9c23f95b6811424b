// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json does not specify which tokens are languages. They are
// recognized by their form, and by a template with such a token next to the
// text.
#include "compiler/import/tokenizer/classes/Languages.h"
#include <algorithm>
#include <unordered_set>

namespace transom::tokenizer {

static bool isLower(char c) { return c >= 'a' && c <= 'z'; }
static bool isUpper(char c) { return c >= 'A' && c <= 'Z'; }

/// Returns the language of a language code token; empty for other tokens.
static std::string getLanguageName(std::string_view token) {
  // `__en__`
  if (token.size() > 4 && token.substr(0, 2) == "__" &&
      token.substr(token.size() - 2) == "__") {
    const std::string_view name = token.substr(2, token.size() - 4);
    return std::all_of(name.begin(), name.end(), isLower) ? std::string(name)
                                                          : std::string();
  }
  // `en_XX` or `eng_Latn`
  const size_t place = token.find('_');
  if (place != 2 && place != 3)
    return {};
  const std::string_view language = token.substr(0, place);
  const std::string_view region = token.substr(place + 1);
  if (!std::all_of(language.begin(), language.end(), isLower) ||
      region.empty() || !isUpper(region[0]))
    return {};
  const bool isCountry = region.size() == 2 && isUpper(region[1]);
  const bool isScript = region.size() == 4 &&
                        std::all_of(region.begin() + 1, region.end(), isLower);
  return isCountry || isScript ? std::string(token) : std::string();
}

void findLanguages(Draft &draft) {
  if (draft.languages.empty())
    for (const DraftAdded &token : draft.added)
      if (std::string name = getLanguageName(token.content); !name.empty())
        draft.languages.push_back({std::move(name), token.id});

  std::unordered_set<uint32_t> ids;
  for (const DraftLanguage &language : draft.languages)
    ids.insert(language.id);
  bool used = false;
  for (auto *items : {&draft.single, &draft.pair})
    for (TemplateItem &item : *items)
      if (item.kind == TemplateItemKind::Token && ids.count(item.id) != 0) {
        item.kind = TemplateItemKind::SourceLanguage;
        used = true;
      }
  if (!used)
    draft.languages.clear();
  std::sort(draft.languages.begin(), draft.languages.end(),
            [](const DraftLanguage &a, const DraftLanguage &b) {
              return a.name < b.name;
            });
}

} // namespace transom::tokenizer
