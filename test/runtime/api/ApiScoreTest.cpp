// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for target scores, over the hand-written encoder-decoder. Its last
// logit depends on the source.
#include "test/support/fake/FakeGeneration.h"
#include <cmath>
#include <cstring>
#include <numeric>

using namespace transom;
using namespace transom::test;

namespace {

using TokenLists = std::vector<std::vector<int64_t>>;

/// log(softmax(logits))[token] in the simplest way.
double logProbability(const std::vector<float> &logits, int64_t token) {
  long double sum = 0;
  for (float logit : logits)
    sum += std::exp((long double)(logit));
  return double((long double)(logits[size_t(token)]) - std::log(sum));
}

class ApiScore : public FakeGeneration {
protected:
  void SetUp() override { openFile(sourceManifest(), 2000); }
  static std::vector<transom_prompt> makePrompts(const TokenLists &lists) {
    std::vector<transom_prompt> prompts;
    for (const std::vector<int64_t> &ids : lists)
      prompts.push_back(makePrompt(ids));
    return prompts;
  }
  transom_status score(const std::vector<transom_prompt> &sources,
                       const std::vector<transom_prompt> &targets) {
    counts.assign(targets.size(), 99);
    sums.assign(targets.size(), -1);
    return transom_session_score_targets(
        session, sources.data(), targets.data(), targets.size(),
        logprobs.data(), logprobs.size() * sizeof(double), counts.data(),
        sums.data());
  }

  std::vector<double> logprobs = std::vector<double>(1000, -1), sums;
  std::vector<size_t> counts;
};

} // namespace

TEST_F(ApiScore, targets_alone_and_together) {
  // More pairs than the session has sequences, with many lengths, one without a
  // target.
  TokenLists sources, targets;
  for (size_t length : {5, 1, 40, 17, 2, 300, 9}) {
    sources.push_back(randomTokens(length, unsigned(length)));
    targets.push_back(randomTokens(length * 7 % 50, unsigned(length) + 1));
  }
  targets[4].clear();
  ASSERT_EQ(score(makePrompts(sources), makePrompts(targets)),
            TRANSOM_STATUS_OK)
      << transom_last_error();
  const std::vector<double> together = logprobs, allSums = sums;
  const double *row = together.data();
  for (size_t i = 0; i != sources.size(); ++i) {
    EXPECT_EQ(counts[i], targets[i].size());
    const float last =
        expectedSource(sources[i], std::vector<int64_t>(sources[i].size(), 1));
    std::vector<int64_t> fed = {fakeStartToken};
    for (size_t t = 0; t != targets[i].size(); ++t) {
      std::vector<float> logits = expectedLogits(fed);
      logits.back() = last;
      EXPECT_NEAR(row[t], logProbability(logits, targets[i][t]), 1e-5)
          << i << " " << t;
      fed.push_back(targets[i][t]);
    }
    EXPECT_EQ(allSums[i], std::accumulate(row, row + targets[i].size(), 0.0));
    row += targets[i].size();
  }

  row = together.data();
  for (size_t i = 0; i != sources.size(); ++i) {
    ASSERT_EQ(score({makePrompt(sources[i])}, {makePrompt(targets[i])}),
              TRANSOM_STATUS_OK);
    EXPECT_EQ(
        std::memcmp(row, logprobs.data(), targets[i].size() * sizeof(double)),
        0)
        << i;
    EXPECT_EQ(sums[0], allSums[i]);
    row += targets[i].size();
  }
  EXPECT_EQ(freeSequences(), 3);
}

TEST_F(ApiScore, room_for_targets) {
  const std::vector<int64_t> ids = {1, 2, 3};
  const std::vector<transom_prompt> three = {makePrompt(ids), makePrompt(ids),
                                             makePrompt(ids)};
  logprobs.resize(8);
  EXPECT_EQ(score(three, three), TRANSOM_STATUS_LIMIT);
  EXPECT_STREQ(transom_last_error(), "the log-probabilities of 9 tokens do not "
                                     "fit into 64 bytes");
  EXPECT_EQ(counts, (std::vector<size_t>{3, 3, 3}));
  EXPECT_EQ(sums, (std::vector<double>{-1, -1, -1}));
  logprobs.resize(9);
  EXPECT_EQ(score(three, three), TRANSOM_STATUS_OK) << transom_last_error();
  EXPECT_EQ(transom_session_score_targets(session, three.data(), three.data(),
                                          3, logprobs.data(), 9 * 8,
                                          counts.data(), nullptr),
            TRANSOM_STATUS_OK);
  EXPECT_EQ(transom_session_score_targets(session, nullptr, nullptr, 0, nullptr,
                                          0, nullptr, nullptr),
            TRANSOM_STATUS_OK);
}

TEST_F(ApiScore, wrong_pairs) {
  const std::vector<int64_t> fine = {1}, outside = {100},
                             wrong = {FAKE_VOCABULARY}, longer(1025, 1),
                             nan = {1, FAKE_NAN_TOKEN, 2};
  const transom_prompt good = makePrompt(fine);
  auto expect = [&](const transom_prompt &source, const transom_prompt &target,
                    transom_status status, const char *text) {
    EXPECT_EQ(score({good, source}, {good, target}), status) << text;
    EXPECT_NE(std::strstr(transom_last_error(), text), nullptr)
        << transom_last_error();
    EXPECT_EQ(sums, (std::vector<double>{-1, -1}));
    EXPECT_EQ(freeSequences(), 3);
  };
  expect({}, good, TRANSOM_STATUS_REJECTED, "source 1 has no tokens");
  expect(makePrompt(outside), good, TRANSOM_STATUS_REJECTED, "source 1");
  expect(good, makePrompt(wrong), TRANSOM_STATUS_REJECTED, "target 1");
  expect(good, makePrompt(nan), TRANSOM_STATUS_REJECTED,
         "row 1: non-finite logit at position 2");
  expect(makePrompt(longer), good, TRANSOM_STATUS_LIMIT,
         "source 1 has 1025 tokens");
  const transom_prompt text = {nullptr, 0, {"x", 1}};
  expect(good, text, TRANSOM_STATUS_UNSUPPORTED, "target 1: the model has no");
  expect(text, good, TRANSOM_STATUS_UNSUPPORTED, "source 1: the model has no");
  EXPECT_EQ(transom_session_score_targets(session, &good, nullptr, 1, nullptr,
                                          0, counts.data(), nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_score_targets(session, &good, &good, 1, nullptr, 8,
                                          counts.data(), nullptr),
            TRANSOM_STATUS_USAGE);
  // A model without an encoder.
  openFile(fakeDecoderManifest(600), 2000);
  expect(good, good, TRANSOM_STATUS_UNSUPPORTED, "needs an encoder-decoder");
}
