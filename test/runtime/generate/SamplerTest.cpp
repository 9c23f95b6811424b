// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices: greedy with ties, penalties, seeds and streams, the shares of
// tokens, and long vocabularies.
#include "runtime/generate/Sampler.h"
#include "runtime/generate/Random.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <set>

using namespace transom;

static GenerationConfig
settled(const std::function<void(GenerationConfig &)> &change = {}) {
  GenerationConfig config;
  if (change)
    change(config);
  Result<void> done = config.settle();
  EXPECT_TRUE(bool(done)) << done.error().message;
  return config;
}

static Error refused(const std::function<void(GenerationConfig &)> &change) {
  GenerationConfig config;
  change(config);
  Result<void> done = config.settle();
  EXPECT_FALSE(bool(done));
  return done.takeError();
}

static int64_t choose(const GenerationConfig &config,
                      const std::vector<float> &logits,
                      const std::vector<int64_t> &tokens = {},
                      size_t prompt = 0, uint64_t row = 0) {
  Sampler sampler(config, int64_t(logits.size()));
  Result<int64_t> token = sampler.choose(
      logits.data(), {tokens.data(), tokens.size(), prompt, row});
  EXPECT_TRUE(bool(token)) << token.error().message;
  return token ? *token : -1;
}

TEST(Philox, known_answers) {
  // Random123's kat_vectors of philox4x32-10: zeros, and digits of pi.
  auto fraction = [](uint64_t low, uint64_t high) {
    return double((high << 32 | low) >> 11) * 0x1p-53;
  };
  EXPECT_EQ(uniformOf(0, 0, 0), fraction(0x6627e8d5, 0xe169c58d));
  EXPECT_EQ(
      uniformOf(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
      fraction(0xd16cfe09, 0x94fdcceb));
}

TEST(Sampler, greedy_takes_the_first_of_equals) {
  EXPECT_EQ(choose(settled(), {1, 3, 2, 3}), 1);
  EXPECT_EQ(choose(settled(), {-1}), 0);
}

TEST(Sampler, logits_that_are_not_finite) {
  GenerationConfig config = settled();
  Sampler sampler(config, 3);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()}) {
    float logits[3] = {1, bad, 2};
    Result<int64_t> token = sampler.choose(logits, {});
    ASSERT_FALSE(bool(token));
    EXPECT_EQ(token.error().status, Status::Rejected);
  }
  float fine[3] = {1, 2, 3};
  EXPECT_EQ(*sampler.choose(fine, {}), 2);
}

TEST(Sampler, presence_and_frequency_count_new_tokens) {
  auto frequency = settled([](auto &c) { c.frequencyPenalty = 0.6; });
  // Token 0 stands twice among the new ones, token 1 in the prompt alone.
  EXPECT_EQ(choose(frequency, {3, 2.5f, 0}, {1, 1, 1, 0, 0}, 3), 1);
  EXPECT_EQ(choose(frequency, {3, 2.5f, 0}, {1, 1, 1, 0}, 3), 1);
  auto presence = settled([](auto &c) { c.presencePenalty = 0.4; });
  EXPECT_EQ(choose(presence, {3, 2.5f, 0}, {1, 0, 0, 0}, 1), 0);
  auto both = settled([](auto &c) {
    c.presencePenalty = 0.4;
    c.frequencyPenalty = 0.2;
  });
  EXPECT_EQ(choose(both, {3, 2.5f, 0}, {1, 0}, 1), 1);
}

TEST(Sampler, bias_bans_and_wishes) {
  auto config = settled([](auto &c) {
    c.logitBias = {{1, -std::numeric_limits<double>::infinity()}, {0, 5}};
  });
  EXPECT_EQ(choose(config, {1, 9, 5.5f}), 0);
  auto outside = settled([](auto &c) { c.logitBias = {{77, 5}, {-1, 5}}; });
  EXPECT_EQ(choose(outside, {1, 9, 5.5f}), 1);
}

TEST(Sampler, nothing_left_is_an_error) {
  auto config = settled([](auto &c) {
    c.endTokens = {0, 1};
    c.minNewTokens = 1;
  });
  Sampler sampler(config, 2);
  float logits[2] = {1, 2};
  Result<int64_t> token = sampler.choose(logits, {});
  ASSERT_FALSE(bool(token));
  EXPECT_EQ(token.error().message, "no token is left to be chosen");
}

TEST(Sampler, end_tokens_wait_for_the_least_number) {
  auto config = settled([](auto &c) {
    c.endTokens = {2, 90};
    c.minNewTokens = 2;
  });
  EXPECT_EQ(choose(config, {1, 2, 3}, {0, 1}, 1), 1);
  EXPECT_EQ(choose(config, {1, 2, 3}, {0, 1, 1}, 1), 2);
}

TEST(Sampler, temperature_zero_is_greedy) {
  auto config = settled([](auto &c) {
    c.sample = true;
    c.temperature = 0;
  });
  for (uint64_t row = 0; row != 20; ++row)
    EXPECT_EQ(choose(config, {1, 1.01f, 1}, {}, 0, row), 1);
}

TEST(Sampler, the_same_seed_gives_the_same_tokens) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i != logits.size(); ++i)
    logits[i] = float((i * 7919) % 1000) / 250;
  std::vector<int64_t> tokens;
  auto draw = [&](uint64_t seed, uint64_t row) {
    auto config = settled([&](auto &c) {
      c.sample = true;
      c.seed = seed;
    });
    Sampler sampler(config, 1000);
    tokens.assign(1, 0);
    while (tokens.size() != 9)
      tokens.push_back(*sampler.choose(logits.data(),
                                       {tokens.data(), tokens.size(), 1, row}));
    return tokens;
  };
  EXPECT_EQ(draw(1, 0), draw(1, 0));
  EXPECT_NE(draw(1, 0), draw(2, 0));
  EXPECT_NE(draw(1, 0), draw(1, 1));
  // Pinned: these may not depend on the machine.
  EXPECT_EQ(draw(42, 3),
            (std::vector<int64_t>{0, 446, 116, 894, 718, 186, 187, 482, 707}));
}

TEST(Sampler, shares_are_the_probabilities) {
  const std::vector<float> logits = {0, 1, 2, -1};
  auto config = settled([](auto &c) {
    c.sample = true;
    c.temperature = 2;
  });
  std::vector<int> counts(4);
  constexpr int draws = 40000;
  Sampler sampler(config, 4);
  for (int i = 0; i != draws; ++i)
    ++counts[size_t(
        *sampler.choose(logits.data(), {nullptr, 0, 0, uint64_t(i)}))];
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(logit / 2);
  for (size_t i = 0; i != 4; ++i)
    EXPECT_NEAR(counts[i], draws * std::exp(logits[i] / 2) / sum, 500) << i;
}

/// What sorting everything would leave.
static std::set<int32_t> expectedCandidates(const std::vector<float> &logits,
                                            int64_t k, double p) {
  std::vector<int32_t> order(logits.size());
  for (size_t i = 0; i != order.size(); ++i)
    order[i] = int32_t(i);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const float first = logits[size_t(a)], second = logits[size_t(b)];
    return first != second ? first > second : a < b;
  });
  size_t size = order.size();
  if (k > 0)
    while (size > size_t(k) && logits[size_t(order[size - 1])] <
                                   logits[size_t(order[size_t(k) - 1])])
      --size;
  double total = 0, sum = 0;
  for (size_t i = 0; i != size; ++i)
    total += std::exp(double(logits[size_t(order[i])]));
  std::set<int32_t> kept;
  for (size_t i = 0; i != size && (i == 0 || sum < p * total); ++i) {
    sum += std::exp(double(logits[size_t(order[i])]));
    kept.insert(order[i]);
  }
  return kept;
}

TEST(Sampler, long_vocabularies) {
  std::mt19937 random(11);
  for (size_t width : {130, 5000, 50257})
    for (double spread : {0.01, 1.0, 4.0})
      for (auto [k, p] : {std::pair(50, 1.0),
                          {0, 0.9},
                          {40, 0.5},
                          {0, 0.999},
                          {100000, 0.7}}) {
        std::normal_distribution<float> normal(0, float(spread));
        std::vector<float> logits(width);
        for (float &logit : logits)
          logit = normal(random);
        auto config = settled([k = k, p = p](auto &c) {
          c.sample = true;
          c.topK = k;
          c.topP = p;
        });
        Sampler sampler(config, int64_t(width));
        ASSERT_TRUE(bool(sampler.choose(logits.data(), {})));
        std::set<int32_t> kept(sampler.candidates().begin(),
                               sampler.candidates().end());
        EXPECT_EQ(kept, expectedCandidates(logits, k, p))
            << width << " " << spread << " " << k << " " << p;
      }
}

TEST(Sampler, the_most_probable_tokens) {
  auto config = settled([](auto &c) { c.topLogprobs = 2; });
  Sampler sampler(config, 4);
  const float logits[4] = {1, 3, 0, 3};
  std::vector<TokenLogprob> top;
  const double sum = logSumExp(logits, 4);
  sampler.appendTop(logits, 2, sum, top);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_DOUBLE_EQ(top[0].logprob, 3 - sum);
  top.clear();
  sampler.appendTop(logits, 9, sum, top);
  EXPECT_EQ(top.size(), 4u);
}

TEST(GenerationConfig, what_is_refused) {
  EXPECT_EQ(refused([](auto &c) { c.topP = 1.5; }).message,
            "'top_p' is in [0, 1], got 1.5");
  EXPECT_EQ(refused([](auto &c) { c.temperature = -1; }).status, Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.temperature = NAN; }).status,
            Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.stopStrings = {""}; }).message,
            "a stop string is empty");
  EXPECT_EQ(refused([](auto &c) { c.numBeams = 4; }).status,
            Status::Unsupported);
  EXPECT_EQ(refused([](auto &c) { c.repetitionPenalty = 0; }).status,
            Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.logitBias = {{1, NAN}}; }).status,
            Status::Usage);
  EXPECT_EQ(refused([](auto &c) { c.unbuilt = {"penalty_alpha 0.6"}; }).status,
            Status::Unsupported);
}

TEST(GenerationConfig, files_and_defaults) {
  Result<GenerationConfig> config = GenerationConfig::parse(
      R"({"do_sample": true, "temperature": 0.6, "eos_token_id": [2, 5],
          "max_length": 30, "unbuilt_sampling": ["typical_p 0.5"]})");
  ASSERT_TRUE(bool(config)) << config.error().message;
  EXPECT_EQ(config->topK, 50);
  EXPECT_EQ(config->mostNewTokens(12), 18);
  EXPECT_EQ(config->mostNewTokens(40), 0);
  EXPECT_EQ(config->fillToken(), 2);
  EXPECT_FALSE(bool(GenerationConfig(*config).settle()));
  config->temperature = 0; // greedy: typical_p would have no effect
  EXPECT_TRUE(bool(config->settle()));
  EXPECT_EQ(config->sample, false);
  EXPECT_EQ(GenerationConfig().mostNewTokens(7), 256);
  EXPECT_FALSE(bool(GenerationConfig::parse(R"({"top_k": "many"})")));
  EXPECT_FALSE(bool(GenerationConfig::parse("[]")));
}
