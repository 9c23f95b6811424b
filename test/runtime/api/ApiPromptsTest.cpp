// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prompts as ids or texts, with a tokenizer and without one.
#include "runtime/api/ApiPrompts.h"
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "test/support/fake/Fake.h"

using namespace transom;
using namespace transom::test;

namespace {

using TokenLists = std::vector<std::vector<int64_t>>;

/// Words a and b; a text ends with the token 3.
const char tokenizerJson[] = R"({"version": "1.0", "added_tokens": [
 {"id": 3, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
"normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
"post_processor": {"type": "TemplateProcessing",
 "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
 "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
 "special_tokens": {"</s>": {"id": "</s>", "ids": [3], "tokens": ["</s>"]}}},
"decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
"model": {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
 "vocab": {"<unk>": 1, "</s>": 3, "a": 10, "b": 20}}})";

/// The tokenizer tables persist, since models refer to them.
std::unique_ptr<Model> makeModel() {
  static const auto imported = importTokenizer(tokenizerJson, "tokenizer.json");
  EXPECT_TRUE(bool(imported)) << imported.error().message;
  return imported ? fakeModel(fakeManifest(), imported->tables) : nullptr;
}

const int64_t ids[] = {7, 8};
const transom_prompt prompts[] = {
    {ids, 2, {"b", 1}}, {nullptr, 0, {"a b a", 5}}, {nullptr, 0, {nullptr, 0}}};

Error getError(const Model &model, const transom_prompt &prompt,
               size_t count = 1) {
  const transom_prompt two[] = {prompts[0], prompt};
  Result<TokenLists> tokens =
      api::getSourceTokens(model, two + (2 - count), count);
  EXPECT_FALSE(tokens);
  return tokens ? Error{Status::Ok, "", {}} : tokens.error();
}

TEST(ApiPrompts, ids_come_before_texts) {
  auto model = makeModel();
  Result<TokenLists> tokens = api::getSourceTokens(*model, prompts, 3);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (TokenLists{{7, 8}, {10, 20, 10, 3}, {3}}));
  transom_tokenize_options how = transom_tokenize_options_default();
  how.no_special = 1;
  tokens = api::getPromptTokens(*model, "prompt", prompts, 3, how);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (TokenLists{{7, 8}, {10, 20, 10}, {}}));
}

TEST(ApiPrompts, only_texts_need_a_tokenizer) {
  auto model = fakeModel(fakeManifest());
  const transom_prompt some[] = {prompts[0], prompts[2]};
  Result<TokenLists> tokens = api::getSourceTokens(*model, some, 2);
  ASSERT_TRUE(tokens) << tokens.error().message;
  EXPECT_EQ(*tokens, (TokenLists{{7, 8}, {}}));
  const Error error = getError(*model, prompts[1]);
  EXPECT_EQ(error.status, Status::Unsupported);
  EXPECT_EQ(error.message, "the model has no tokenizer");
}

TEST(ApiPrompts, errors_name_one_of_several) {
  auto model = makeModel();
  const transom_prompt wrong = {nullptr, 0, {"\xff", 1}};
  Error error = getError(*model, wrong);
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message.find("source"), std::string::npos) << error.message;
  error = getError(*model, wrong, 2);
  EXPECT_EQ(error.message.find("source 1: "), 0u) << error.message;
  EXPECT_EQ(getError(*model, {nullptr, 2, {nullptr, 0}}).status, Status::Usage);
  EXPECT_EQ(getError(*model, {nullptr, 0, {nullptr, 2}}).status, Status::Usage);
}

} // namespace
