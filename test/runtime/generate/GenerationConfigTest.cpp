// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Generation settings: reading, range checks, defaults.
#include "runtime/generate/GenerationConfig.h"
#include "runtime/generate/GenerationOptions.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <set>

using namespace transom;

static Error refused(const std::function<void(GenerationConfig &)> &change) {
  GenerationConfig config;
  change(config);
  Result<void> done = config.resolve();
  EXPECT_FALSE(bool(done));
  return done.takeError();
}

TEST(GenerationConfig, what_is_refused) {
  EXPECT_EQ(refused([](auto &c) { c.topP = 1.5; }).message,
            "'top_p' has to be a number in [0, 1], got 1.5");
  EXPECT_EQ(refused([](auto &c) { c.temperature = -1; }).status, Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.temperature = NAN; }).status,
            Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.stopStrings = {""}; }).message,
            "a stop string is empty");
  EXPECT_EQ(refused([](auto &c) { c.numBeams = 0; }).status, Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.repetitionPenalty = 0; }).status,
            Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.logitBias = {{1, NAN}}; }).status,
            Status::Usage);
  EXPECT_EQ(
      refused([](auto &c) { c.unsupported = {"penalty_alpha 0.6"}; }).status,
      Status::Unsupported);
}

TEST(GenerationConfig, beams) {
  const Error sampled = refused([](auto &c) {
    c.numBeams = 4;
    c.sample = true;
  });
  EXPECT_EQ(sampled.status, Status::Unsupported);
  EXPECT_EQ(sampled.message,
            "sampling with 'num_beams' 4 is not supported; supported: a "
            "temperature of 0, or 1 beam");
  const Error returned = refused([](auto &c) {
    c.numBeams = 4;
    c.numReturnSequences = 5;
  });
  EXPECT_EQ(returned.status, Status::Usage);
  EXPECT_EQ(returned.message,
            "'num_return_sequences' 5 is more than 'num_beams' 4");
  EXPECT_EQ(refused([](auto &c) {
              c.numBeams = 2;
              c.topLogprobs = 0;
            }).status,
            Status::Unsupported);
  EXPECT_EQ(refused([](auto &c) {
              c.numBeams = 2;
              c.contextPolicy = ContextPolicy::Shift;
            }).status,
            Status::Unsupported);
  // A temperature of 0 is greedy, so beams search whatever the files specify.
  GenerationConfig config;
  config.numBeams = 4;
  config.sample = true;
  config.temperature = 0;
  EXPECT_TRUE(bool(config.resolve()));
}

TEST(GenerationConfig, files_and_defaults) {
  Result<GenerationConfig> config = GenerationConfig::parse(
      R"({"do_sample": true, "temperature": 0.6, "eos_token_id": [2, 5],
          "max_length": 30, "unsupported_sampling": ["typical_p 0.5"]})");
  ASSERT_TRUE(bool(config)) << config.error().message;
  EXPECT_EQ(config->topK, 50);
  EXPECT_EQ(config->mostNewTokens(12), 18);
  EXPECT_EQ(config->mostNewTokens(40), 0);
  EXPECT_EQ(config->fillToken(), 2);
  EXPECT_FALSE(bool(GenerationConfig(*config).resolve()));
  config->temperature = 0; // greedy: typical_p would have no effect
  EXPECT_TRUE(bool(config->resolve()));
  EXPECT_EQ(config->sample, false);
  EXPECT_EQ(GenerationConfig().mostNewTokens(7), 256);
  EXPECT_FALSE(bool(GenerationConfig::parse(R"({"top_k": "many"})")));
  EXPECT_FALSE(bool(GenerationConfig::parse("[]")));
}

TEST(GenerationOptions, keys_and_flags_are_unique) {
  std::set<std::string> keys, flags;
  visitGenerationOptions([&](const GenerationOption &option, auto, auto field) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_LE(option.low, option.high) << option.key;
    EXPECT_GE(option.flagLow, option.low) << option.key;
    // Flags set fields in the C API.
    EXPECT_EQ(option.flag != nullptr, !std::is_null_pointer_v<decltype(field)>)
        << option.key;
    if (option.flag)
      EXPECT_TRUE(flags.insert(option.flag).second && option.help)
          << option.key;
  });
}
