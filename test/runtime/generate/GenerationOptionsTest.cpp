// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Caller options over settings in the model files.
#include "runtime/generate/GenerationOptions.h"
#include <gtest/gtest.h>

using namespace transom;

/// Options with none set.
static transom_generate_options makeOptions() {
  transom_generate_options options = {};
  visitGenerationOptions([&](const GenerationOption &, auto, auto field) {
    if constexpr (!std::is_null_pointer_v<decltype(field)>)
      options.*field = TRANSOM_FROM_MODEL;
  });
  options.sample = TRANSOM_FROM_MODEL;
  options.top_logprobs = -1;
  return options;
}

TEST(GenerationOptions, unset_options_leave_the_settings) {
  GenerationConfig config;
  config.maxNewTokens = 7;
  config.numBeams = 3;
  config.temperature = 0.5;
  config.sample = true;
  config.forcedBegin = 9;
  applyOptions(makeOptions(), config);
  EXPECT_EQ(config.maxNewTokens, 7);
  EXPECT_EQ(config.numBeams, 3);
  EXPECT_EQ(config.temperature, 0.5);
  EXPECT_EQ(config.sample, true);
  EXPECT_EQ(config.forcedBegin, 9);
  EXPECT_FALSE(config.topK);
  EXPECT_EQ(config.topLogprobs, -1);
  EXPECT_EQ(config.seed, 0u);
}

TEST(GenerationOptions, options_that_are_set) {
  GenerationConfig config;
  config.numBeams = 3;
  config.forcedBegin = 9;
  transom_generate_options options = makeOptions();
  options.max_new_tokens = 0;
  options.num_beams = 5;
  options.length_penalty = -0.5;
  options.early_stopping = 2;
  options.renormalize_logits = 1;
  options.use_shortlist = 0;
  options.forced_bos_id = -1;
  options.decoder_start_id = 4;
  options.seed = 11;
  options.ignore_end = 1;
  options.top_logprobs = 2;
  applyOptions(options, config);
  EXPECT_EQ(config.maxNewTokens, 0);
  EXPECT_EQ(config.numBeams, 5);
  EXPECT_EQ(config.lengthPenalty, -0.5);
  EXPECT_EQ(config.earlyStopping, EarlyStopping::Never);
  EXPECT_TRUE(config.renormalizeLogits);
  EXPECT_FALSE(config.useShortlist);
  EXPECT_EQ(config.forcedBegin, -1);
  EXPECT_EQ(config.decoderStart, 4);
  EXPECT_EQ(config.seed, 11u);
  EXPECT_TRUE(config.ignoreEnd);
  EXPECT_EQ(config.topLogprobs, 2);
  EXPECT_FALSE(config.sample);
}

TEST(GenerationOptions, options_of_sampling_turn_it_on) {
  auto getSample = [](auto &&change) {
    GenerationConfig config;
    config.sample = false;
    transom_generate_options options = makeOptions();
    change(options);
    applyOptions(options, config);
    return *config.sample;
  };
  EXPECT_TRUE(getSample([](auto &options) { options.temperature = 2; }));
  EXPECT_TRUE(getSample([](auto &options) { options.top_k = 5; }));
  EXPECT_FALSE(getSample([](auto &options) { options.num_beams = 5; }));
  EXPECT_TRUE(getSample([](auto &options) { options.sample = 1; }));
  // The caller's explicit sampling option takes precedence.
  EXPECT_FALSE(getSample([](auto &options) {
    options.temperature = 2;
    options.sample = 0;
  }));
}
