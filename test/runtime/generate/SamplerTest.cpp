// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sampling: greedy with ties, seeds and streams, token frequencies, and long
// vocabularies.
#include "runtime/generate/Sampler.h"
#include "test/runtime/generate/Choose.h"
#include "test/runtime/generate/RowGroups.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

using namespace transom;
using namespace transom::test;

TEST(Sampler, greedy_takes_the_first_of_equals) {
  EXPECT_EQ(choose(resolved(), {1, 3, 2, 3}), 1);
  EXPECT_EQ(choose(resolved(), {-1}), 0);
}

/// The first largest logit after the processors, in a row copy.
static int64_t chooseFromCopy(const GenerationConfig &config,
                              std::vector<float> logits,
                              const std::vector<int64_t> &tokens) {
  LogitProcessors processors(config, int64_t(logits.size()));
  DenseRow row(logits.data(), int64_t(logits.size()));
  processors.apply(row, {tokens.data(), tokens.size(), 1});
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

TEST(Sampler, greedy_after_processors_is_that_of_a_processed_copy) {
  std::mt19937 random(11);
  for (size_t width : {10, 64, 128, 129, 1000, 20000})
    for (int round = 0; round != 40; ++round) {
      // Few values, so that the max occurs more than once.
      std::vector<float> logits(width);
      for (float &logit : logits)
        logit = float(int(random() % 40)) / 4 - 5;
      std::vector<int64_t> tokens(1 + random() % 60);
      for (int64_t &token : tokens)
        token = int64_t(random() % width);
      auto config = resolved([&](auto &c) {
        c.repetitionPenalty = round % 3 == 0 ? 1.3 : round % 3 == 1 ? 0.7 : 1;
        c.noRepeatNgramSize = 1 + round % 2;
        for (size_t i = 0; i != 5; ++i)
          c.suppressed.push_back(int64_t(random() % width));
        c.logitBias = {{int64_t(random() % width), 1.5}};
      });
      if (width == 10)
        config.noRepeatNgramSize = 0; // leaves some
      const int64_t expected = chooseFromCopy(config, logits, tokens);
      EXPECT_EQ(choose(config, logits, tokens, 1), expected) << width;
      Sampler sampler(config, int64_t(width));
      const RowGroups groups(logits.data(), int64_t(width));
      EXPECT_EQ(
          *sampler.choose(groups.get(false), {tokens.data(), tokens.size(), 1}),
          expected)
          << width;
    }
}

TEST(Sampler, logits_that_are_not_finite) {
  GenerationConfig config = resolved();
  Sampler sampler(config, 3);
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()}) {
    float logits[3] = {1, bad, 2};
    Result<int64_t> token = sampler.choose(logits, {});
    ASSERT_FALSE(bool(token));
    EXPECT_EQ(token.error().status, Status::Rejected);
    token = sampler.choose(RowGroups(logits, 3).get(), {});
    ASSERT_FALSE(bool(token));
    EXPECT_EQ(token.error().status, Status::Rejected);
  }
  float fine[3] = {1, 2, 3};
  EXPECT_EQ(*sampler.choose(fine, {}), 2);
}

TEST(Sampler, temperature_zero_is_greedy) {
  auto config = resolved([](auto &c) {
    c.sample = true;
    c.temperature = 0;
  });
  for (uint64_t number = 0; number != 20; ++number)
    EXPECT_EQ(choose(config, {1, 1.01f, 1}, {}, 0, number), 1);
}

TEST(Sampler, the_same_seed_gives_the_same_tokens) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i != logits.size(); ++i)
    logits[i] = float((i * 7919) % 1000) / 250;
  std::vector<int64_t> tokens;
  auto draw = [&](uint64_t seed, uint64_t continuation) {
    auto config = resolved([&](auto &c) {
      c.sample = true;
      c.seed = seed;
    });
    Sampler sampler(config, 1000);
    tokens.assign(1, 0);
    while (tokens.size() != 9)
      tokens.push_back(*sampler.choose(
          logits.data(), {tokens.data(), tokens.size(), 1, continuation}));
    return tokens;
  };
  EXPECT_EQ(draw(1, 0), draw(1, 0));
  EXPECT_NE(draw(1, 0), draw(2, 0));
  EXPECT_NE(draw(1, 0), draw(1, 1));
  // Pinned: these must not depend on the host.
  EXPECT_EQ(draw(42, 3),
            (std::vector<int64_t>{0, 446, 116, 894, 718, 186, 187, 482, 707}));
}

TEST(Sampler, shares_are_the_probabilities) {
  const std::vector<float> logits = {0, 1, 2, -1};
  auto config = resolved([](auto &c) {
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

/// The result from sorting everything.
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
        auto config = resolved([k = k, p = p](auto &c) {
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
  auto config = resolved([](auto &c) { c.topLogprobs = 2; });
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
