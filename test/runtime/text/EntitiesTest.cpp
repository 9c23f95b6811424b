// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens for types and words; test_entities.py tests entities with whole
// models.
#include "runtime/text/Entities.h"
#include "test/runtime/text/TextModel.h"

using namespace transom;
using namespace transom::test;

namespace {

using Ids = std::vector<int64_t>;
using TokenIndices = std::vector<size_t>;

ManifestEntities getRules() {
  ManifestEntities rules;
  rules.typeToken = "b";
  rules.typeTokenId = 20;
  rules.separator = "[SEP]";
  rules.maxWords = 4;
  return rules;
}

EntityPrompt encodePrompt(const ManifestEntities &rules,
                          const std::vector<std::string_view> &types,
                          const std::vector<std::string_view> &words,
                          size_t most = 0) {
  Result<Tokenizer> tokenizer = Tokenizer::open(tables());
  EXPECT_TRUE(bool(tokenizer));
  auto prompt = encodeEntityPrompt(*tokenizer, rules, types, words, most);
  EXPECT_TRUE(bool(prompt)) << prompt.error().message;
  return prompt ? *prompt : EntityPrompt();
}

Error findEntityError(const Manifest &manifest, const char *type,
                      double threshold = 0.5) {
  auto model = fakeModel(manifest, tables());
  auto session = makeTextSession(*model);
  const transom_text types[] = {text(type)};
  transom_entity_options options = transom_entity_options_default();
  options.threshold = threshold;
  const transom_text texts[] = {text("a")};
  auto found = findEntities(*session, texts, 1, types, 1, options,
                            [](size_t, const TextEntities &) {});
  EXPECT_FALSE(bool(found));
  return found ? Error{} : found.error();
}

} // namespace

TEST(Entities, are_asked_for_by_types_before_the_text) {
  EntityPrompt prompt = encodePrompt(getRules(), {"a", "c"}, {"ac", "c"});
  EXPECT_EQ(prompt.encoding.ids, (Ids{2, 20, 10, 20, 30, 3, 10, 31, 30, 3}));
  EXPECT_EQ(prompt.types, (TokenIndices{1, 3}));
  EXPECT_EQ(prompt.words, (std::vector<TokenIndices>{{6, 7}, {8}}));
}

TEST(Entities, take_the_token_after_the_marker_where_the_model_does) {
  ManifestEntities rules = getRules();
  rules.readsName = true;
  EXPECT_EQ(encodePrompt(rules, {"a", "c"}, {"a"}).types, (TokenIndices{2, 4}));
}

TEST(Entities, count_words_that_have_tokens) {
  // The normalizer removes the middle word.
  EntityPrompt prompt = encodePrompt(getRules(), {"a"}, {"a", "\u200b", "c"});
  EXPECT_EQ(prompt.words, (std::vector<TokenIndices>{{4}, {5}, {}}));
}

TEST(Entities, lose_what_is_cut) {
  EntityPrompt prompt = encodePrompt(getRules(), {"a", "c"}, {"a", "c"}, 7);
  EXPECT_EQ(prompt.types, (TokenIndices{1, 3}));
  EXPECT_EQ(prompt.words, (std::vector<TokenIndices>{{}, {}}));
  EXPECT_EQ(prompt.encoding.truncatedTokens, 2u);
  EXPECT_EQ(encodePrompt(getRules(), {"a", "c"}, {"a"}, 4).types,
            (TokenIndices{1}));
}

TEST(Entities, are_found_by_models_for_them_only) {
  Error error = findEntityError(textManifest(), "a");
  EXPECT_EQ(error.status, Status::Unsupported);
  EXPECT_NE(error.message.find("its head is"), std::string::npos);
}
