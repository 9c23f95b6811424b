// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The best tokens in a row, against a plain computation over a row copy.
#include "runtime/generate/BeamCandidates.h"
#include "test/runtime/generate/Choose.h"
#include "test/runtime/generate/RowGroups.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace transom;
using namespace transom::test;

static std::vector<float> makeLogits(size_t width, uint32_t seed) {
  std::vector<float> logits;
  for (size_t i = 0; i != width; ++i) {
    seed = seed * 1664525 + 1013904223;
    logits.push_back(float(seed >> 8) / float(1 << 21) - 4);
  }
  return logits;
}

/// The same with every log-probability computed explicitly.
static std::vector<ScoredToken> findPlainly(const GenerationConfig &config,
                                            const std::vector<float> &logits,
                                            const SamplingPosition &position) {
  const double sum = logSumExp(logits.data(), int64_t(logits.size()));
  std::vector<float> row;
  for (float logit : logits)
    row.push_back(float(double(logit) - sum));
  LogitProcessors processors(config, int64_t(row.size()));
  DenseRow dense(row.data(), int64_t(row.size()));
  processors.apply(dense, position);
  double total = 0;
  for (float value : row)
    total += std::exp(double(value));
  std::vector<ScoredToken> all;
  for (size_t i = 0; i != row.size(); ++i)
    if (row[i] > -std::numeric_limits<float>::infinity())
      all.push_back({int64_t(i), row[i]});
  std::sort(all.begin(), all.end(),
            [](const ScoredToken &a, const ScoredToken &b) {
              return a.logprob != b.logprob ? a.logprob > b.logprob
                                            : a.token < b.token;
            });
  all.resize(std::min(all.size(), BeamSearch::getCount(config)));
  for (ScoredToken &token : all)
    if (config.renormalizeLogits)
      token.logprob = float(double(token.logprob) - std::log(total));
  return all;
}

static void expectPlain(const GenerationConfig &config,
                        const std::vector<float> &logits,
                        const SamplingPosition &position) {
  BeamCandidates candidates(config, int64_t(logits.size()));
  const std::vector<ScoredToken> expected =
      findPlainly(config, logits, position);
  const RowGroups groups(logits.data(), int64_t(logits.size()));
  for (const LogitRow &row :
       {LogitRow(logits.data()), groups.get(false), groups.get()}) {
    auto found = candidates.find(row, position);
    ASSERT_TRUE(bool(found)) << found.error().message;
    ASSERT_EQ((*found)->size(), expected.size());
    for (size_t i = 0; i != expected.size(); ++i) {
      EXPECT_EQ((**found)[i].token, expected[i].token) << i;
      EXPECT_NEAR((**found)[i].logprob, expected[i].logprob, 2e-6) << i;
    }
  }
}

TEST(BeamCandidates, the_best_after_processors) {
  const std::vector<int64_t> tokens = {4, 900, 3, 4, 77, 3};
  SamplingPosition position{tokens.data(), tokens.size(), 2};
  position.source = tokens.data();
  position.sourceCount = 2;
  for (size_t width : {size_t(40), size_t(64), size_t(1000), size_t(5000)}) {
    for (bool renormalize : {false, true}) {
      auto config = resolved([&](auto &c) {
        c.numBeams = 4;
        c.endTokens = {9, 3, 17};
        c.renormalizeLogits = renormalize;
      });
      const std::vector<float> logits = makeLogits(width, uint32_t(width));
      expectPlain(config, logits, position);
      config.repetitionPenalty = 0.4; // raises
      expectPlain(config, logits, position);
      config.repetitionPenalty = 1.7;
      config.noRepeatNgramSize = 2;
      config.encoderNoRepeatNgramSize = 1;
      config.suppressed = {0, int64_t(width) - 1, 33};
      config.logitBias = {{21, 5}, {20, -5}};
      expectPlain(config, logits, position);
    }
  }
}

TEST(BeamCandidates, forced_tokens_and_nothing_left) {
  const std::vector<float> logits = makeLogits(100, 5);
  const int64_t start = 2;
  SamplingPosition position{&start, 1, 1};
  auto config = resolved([](auto &c) {
    c.numBeams = 3;
    c.forcedBegin = 42;
    c.renormalizeLogits = true;
  });
  BeamCandidates candidates(config, 100);
  auto found = candidates.find(logits.data(), position);
  ASSERT_TRUE(bool(found));
  ASSERT_EQ((*found)->size(), 1u);
  EXPECT_EQ((*found)->front().token, 42);
  EXPECT_EQ((*found)->front().logprob, 0);
  config.suppressed = {42};
  found = candidates.find(logits.data(), position);
  ASSERT_TRUE(bool(found));
  EXPECT_TRUE((*found)->empty());
}

TEST(BeamCandidates, equal_ones_by_id) {
  const std::vector<float> logits(200, 1.5f);
  auto config = resolved([](auto &c) { c.numBeams = 2; });
  BeamCandidates candidates(config, 200);
  auto found = candidates.find(logits.data(), {});
  ASSERT_TRUE(bool(found));
  ASSERT_EQ((*found)->size(), 4u);
  for (int64_t i = 0; i != 4; ++i)
    EXPECT_EQ((**found)[size_t(i)].token, i);
}

TEST(BeamCandidates, a_logit_that_is_not_finite) {
  std::vector<float> logits(100, 0);
  logits[70] = std::numeric_limits<float>::quiet_NaN();
  auto config = resolved([](auto &c) { c.numBeams = 2; });
  BeamCandidates candidates(config, 100);
  EXPECT_FALSE(bool(candidates.find(logits.data(), {})));
  EXPECT_FALSE(bool(candidates.find(RowGroups(logits.data(), 100).get(), {})));
}
