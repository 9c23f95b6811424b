// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The JSON files next to a folder's vocabulary, and their precedence.
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include <gtest/gtest.h>

namespace transom::tokenizer {
namespace {

TokenizerSettings getSettings(std::string_view config,
                              std::string_view specialTokens = "{}",
                              std::string_view addedTokens = "{}") {
  auto settings = readTokenizerSettings(
      {NamedFile{config, "tokenizer_config.json"},
       NamedFile{specialTokens, "special_tokens_map.json"},
       NamedFile{addedTokens, "added_tokens.json"}});
  EXPECT_TRUE(settings) << settings.error().message;
  return *settings;
}

std::string getContents(const std::vector<TokenSetting> &tokens) {
  std::string contents;
  for (const TokenSetting &token : tokens)
    contents += token.content + (token.special ? "! " : " ");
  return contents;
}

TEST(TokenizerSettings, TokensWithRoles) {
  TokenizerSettings settings =
      getSettings(R"({"eos_token": "</s>", "pad_token": null, "x_token": "<x>",
                      "add_bos_token": true, "mask_token": {"content": "<m>", "lstrip": true}})",
                  R"({"eos_token": {"content": "<end>", "normalized": true}})");
  ASSERT_EQ(settings.named.size(), 4u);
  const NamedToken *end = settings.find("eos_token");
  EXPECT_EQ(end->token->content, "<end>");
  EXPECT_TRUE(end->token->special);
  EXPECT_EQ(end->token->normalized, true);
  EXPECT_FALSE(settings.find("pad_token")->token);
  EXPECT_TRUE(settings.find("mask_token")->token->leftStrip);
  EXPECT_EQ(settings.find("x_token")->token->content, "<x>");
  EXPECT_EQ(settings.find("cls_token"), nullptr);
  EXPECT_TRUE(*settings.getFlag("add_bos_token", false));
  EXPECT_TRUE(*settings.getFlag("add_eos_token", true));
}

TEST(TokenizerSettings, LengthsAtWhichTextsAreCut) {
  auto getLength = [](std::string_view config) {
    return *getSettings(config).getMaxLength();
  };
  EXPECT_EQ(getLength(R"({"model_max_length": 64, "max_len": 32})"), 64);
  EXPECT_EQ(getLength(R"({"max_len": 32})"), 32);
  for (const char *none :
       {"{}", R"({"model_max_length": null, "max_len": 32})",
        R"({"model_max_length": 1000000000000000019884624838656})",
        R"({"model_max_length": 1e30})", R"({"model_max_length": 2147483648})"})
    EXPECT_EQ(getLength(none), std::nullopt) << none;
  for (const char *wrong :
       {R"({"model_max_length": 0})", R"({"model_max_length": "64"})",
        R"({"model_max_length": 64.5})"}) {
    auto length = getSettings(wrong).getMaxLength();
    ASSERT_FALSE(length) << wrong;
    EXPECT_EQ(length.error().status, Status::Rejected);
    EXPECT_EQ(length.error().message.rfind(
                  "tokenizer_config.json:1:22: '/model_max_length': ", 0),
              0u)
        << length.error().message;
  }
}

TEST(TokenizerSettings, FurtherTokens) {
  EXPECT_FALSE(getSettings("{}").extra);
  EXPECT_EQ(
      getContents(
          *getSettings(R"({"additional_special_tokens": ["<a>"]})").extra),
      "<a>! ");
  EXPECT_EQ(getContents(*getSettings(R"({"additional_special_tokens": ["<a>"],
      "extra_special_tokens": ["<b>", {"content": "c"}]})")
                             .extra),
            "<b>! c ");
  TokenizerSettings settings =
      getSettings(R"({"extra_special_tokens": {"image": "<i>"}})",
                  R"({"additional_special_tokens": ["<a>"]})");
  EXPECT_FALSE(settings.extra);
  EXPECT_EQ(settings.find("image")->token->content, "<i>");
  EXPECT_EQ(getContents(settings.additional), "<a>! ");
}

TEST(TokenizerSettings, TokensWithIds) {
  TokenizerSettings settings = getSettings(R"({"eos_token": "</s>"})", "{}",
                                           R"({"plain": 9, "</s>": 4})");
  EXPECT_EQ(getContents(settings.added), "</s>! plain ");
  EXPECT_EQ(*settings.added[0].id, 4u);
  EXPECT_EQ(settings.added[1].normalized, true);

  // Newer folders have all settings in one file.
  settings = getSettings(
      R"({"eos_token": "</s>", "added_tokens_decoder":
          {"7": {"content": "</s>", "rstrip": true}, "2": {"content": "a"}}})",
      R"({"eos_token": "<other>"})", R"({"plain": 9})");
  EXPECT_EQ(getContents(settings.added), "a </s> ");
  EXPECT_EQ(settings.find("eos_token")->token->content, "</s>");
  EXPECT_TRUE(settings.find("eos_token")->token->rightStrip);
}

TEST(TokenizerSettings, MalformedFiles) {
  auto getMessage = [](std::string_view config) {
    auto settings = readTokenizerSettings(
        {NamedFile{config, "c.json"}, std::nullopt, std::nullopt});
    EXPECT_FALSE(settings);
    return settings ? "" : settings.error().message;
  };
  EXPECT_EQ(getMessage("[]"), "c.json:1:1: expected an object, got an array");
  EXPECT_EQ(getMessage(R"({"eos_token": 3})"),
            "c.json:1:15: '/eos_token': expected an object, got an integer");
  EXPECT_EQ(
      getMessage(R"({"added_tokens_decoder": {"x": {"content": "a"}}})"),
      "c.json:1:32: '/added_tokens_decoder/x': expected an id as the key");
  EXPECT_EQ(getMessage(R"({"extra_special_tokens": "a"})"),
            "c.json:1:26: '/extra_special_tokens': expected an array, got a "
            "string");
}

} // namespace
} // namespace transom::tokenizer
