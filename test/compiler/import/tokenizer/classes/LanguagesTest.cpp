// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tokens are languages.
#include "compiler/import/tokenizer/classes/Languages.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

Draft getDraft(const std::vector<std::string> &tokens, uint32_t used) {
  Draft draft;
  for (const std::string &text : tokens) {
    DraftAdded token;
    token.id = static_cast<uint32_t>(draft.added.size());
    token.content = text;
    draft.added.push_back(token);
  }
  draft.single = {{TemplateItemKind::SequenceA, 0, 0},
                  {TemplateItemKind::Token, used, 0}};
  findLanguages(draft);
  return draft;
}

std::string getNames(const Draft &draft) {
  std::string names;
  for (const DraftLanguage &language : draft.languages)
    names += language.name + "=" + std::to_string(language.id) + " ";
  return names;
}

TEST(Languages, FormsOfCodes) {
  const std::vector<std::string> tokens = {
      "<s>",      "fr_XX",     "en_XX", "eng_Latn", "__de__",
      "__ast__",  "en_",       "en_X",  "EN_XX",    "e_XX",
      "eng_latn", "eng_Latin", "__",    "____",     "__D__"};
  EXPECT_EQ(getNames(getDraft(tokens, 1)),
            "ast=5 de=4 en_XX=2 eng_Latn=3 fr_XX=1 ");
}

TEST(Languages, OnlyWhereTheTemplateHasOne) {
  Draft draft = getDraft({"</s>", "en_XX"}, 1);
  EXPECT_EQ(draft.single[1].kind, TemplateItemKind::SourceLanguage);
  EXPECT_EQ(draft.single[1].id, 1u);
  draft = getDraft({"</s>", "en_XX"}, 0);
  EXPECT_EQ(draft.single[1].kind, TemplateItemKind::Token);
  EXPECT_EQ(getNames(draft), "");
}

} // namespace
} // namespace transom::tokenizer
