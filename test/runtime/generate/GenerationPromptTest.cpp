// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How prompts are truncated, and the positions after them.
#include "runtime/generate/GenerationPrompt.h"
#include "test/runtime/generate/FakeSource.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

static Result<PreparedPrompt> prepareForContext(GenerationConfig config,
                                                std::vector<int64_t> tokens) {
  FakeSource source(40, 4, 10, 20);
  EXPECT_TRUE(bool(config.resolve()));
  GenerationPrompts prompts;
  prompts.ids.resize(4);
  prompts.ids[3] = std::move(tokens);
  return preparePrompt(source, config, prompts, 3);
}

TEST(GenerationPrompt, what_the_context_leaves) {
  GenerationConfig config;
  config.maxNewTokens = 6;
  const std::vector<int64_t> shorter(5, 1), longer(17, 1), most(30, 1);
  auto prompt = prepareForContext(config, shorter);
  ASSERT_TRUE(bool(prompt));
  EXPECT_EQ(prompt->mostNew, 6);
  EXPECT_EQ(prompt->atMost, FinishReason::Length);
  prompt = prepareForContext(config, longer);
  ASSERT_TRUE(bool(prompt));
  EXPECT_EQ(prompt->mostNew, 3);
  EXPECT_EQ(prompt->atMost, FinishReason::Context);
  prompt = prepareForContext(config, most);
  ASSERT_FALSE(bool(prompt));
  EXPECT_EQ(prompt.error().message, "prompt 3 has 30 tokens, more than the "
                                    "model's context of 20");
  config.contextPolicy = ContextPolicy::Truncate;
  prompt = prepareForContext(config, most);
  ASSERT_TRUE(bool(prompt));
  EXPECT_EQ(prompt->tokens.size(), 14u);
  config.contextPolicy = ContextPolicy::Shift;
  prompt = prepareForContext(config, most);
  ASSERT_TRUE(bool(prompt));
  EXPECT_EQ(prompt->start, 20u);
}

TEST(GenerationPrompt, positions) {
  GenerationConfig config;
  config.maxLength = 9;
  auto prompt = prepareForContext(config, {4, 5});
  ASSERT_TRUE(bool(prompt));
  const std::vector<int64_t> all = {4, 5, 8};
  const SamplingPosition position = prompt->getPosition(all, 2);
  EXPECT_EQ(position.made(), 1u);
  EXPECT_EQ(position.continuation, 2u);
  EXPECT_EQ(position.maxLength, 9u);
  EXPECT_EQ(std::vector<int64_t>(position.source,
                                 position.source + position.sourceCount),
            (std::vector<int64_t>{4, 5}));
}

TEST(GenerationPrompt, empty_ones_and_wrong_ids) {
  GenerationConfig config;
  EXPECT_EQ(prepareForContext(config, {}).error().message,
            "prompt 3 is empty, and the model has no begin token");
  config.beginToken = 2;
  EXPECT_EQ(prepareForContext(config, {})->tokens, std::vector<int64_t>{2});
  EXPECT_FALSE(bool(prepareForContext(config, {40})));
}
