// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices among shortlist tokens have the same bits as a model whose head has
// no other tokens: rows with shortlist logits alone are the reference.
#include "runtime/generate/Shortlist.h"
#include "runtime/generate/BeamCandidates.h"
#include "test/runtime/generate/Choose.h"
#include <limits>
#include <random>

using namespace transom;
using namespace transom::test;

namespace {

/// A logit row and a shortlist, and the shortlist logits as a separate row.
struct ListedRow {
  explicit ListedRow(uint32_t seed, size_t width, size_t share) {
    std::mt19937 random(seed);
    for (size_t i = 0; i != width; ++i) {
      logits.push_back(float(int(random() % 4001)) / 250 - 8);
      if (random() % share == 0)
        list.push_back(int64_t(i));
    }
    list.push_back(int64_t(width));
    logits.push_back(2.5f);
    for (int64_t token : list)
      compact.push_back(logits[size_t(token)]);
    // Nothing reads the others.
    for (size_t i = 0, next = 0; i != logits.size(); ++i)
      if (list[next] == int64_t(i))
        ++next;
      else
        logits[i] = std::numeric_limits<float>::quiet_NaN();
  }
  std::vector<float> logits, compact;
  std::vector<int64_t> list;
};

/// The same row as a head with selected columns returns it: the selected logits
/// in another order, between others.
struct ColumnRow {
  explicit ColumnRow(const ListedRow &from) : columns(from.logits.size(), -1) {
    for (auto token = from.list.rbegin(); token != from.list.rend(); ++token) {
      columns[size_t(*token)] = int32_t(logits.size());
      logits.push_back(from.logits[size_t(*token)]);
      logits.push_back(std::numeric_limits<float>::quiet_NaN());
    }
  }
  LogitRow get() const {
    LogitRow row(logits.data());
    row.columns = columns.data();
    return row;
  }
  std::vector<float> logits;
  std::vector<int32_t> columns;
};

} // namespace

TEST(Shortlist, greedy_and_sampled_tokens_are_those_of_a_smaller_head) {
  for (uint32_t seed = 0; seed != 40; ++seed) {
    const ListedRow row(seed, 700, 1 + seed % 9);
    // Some first shortlist tokens may be excluded, so another one is the
    // largest.
    auto getConfig = [&](bool isSmall) {
      return resolved([&](auto &c) {
        if (seed % 2) {
          c.temperature = 1.5;
          c.topK = seed % 4 == 1 ? 20 : 0;
          c.topP = 0.9;
        }
        c.seed = seed;
        for (size_t i = 0; i != row.compact.size(); ++i)
          if (seed % 3 == 0 && row.compact[i] > 4)
            c.suppressed.push_back(isSmall ? int64_t(i) : row.list[i]);
      });
    };
    const GenerationConfig config = getConfig(false),
                           smallConfig = getConfig(true);
    Sampler whole(config, int64_t(row.logits.size()));
    Sampler small(smallConfig, int64_t(row.compact.size()));
    for (uint64_t continuation = 0; continuation != 10; ++continuation) {
      SamplingPosition position;
      position.continuation = continuation;
      const int64_t expected = *small.choose(row.compact.data(), position);
      position.allowed = &row.list;
      Result<int64_t> found = whole.choose(row.logits.data(), position);
      ASSERT_TRUE(bool(found)) << found.error().message;
      ASSERT_EQ(*found, row.list[size_t(expected)]) << seed;
      EXPECT_TRUE(whole.areFinite(row.logits.data(), position));
      const ColumnRow listed(row);
      EXPECT_EQ(*whole.choose(listed.get(), position), *found);
      EXPECT_TRUE(whole.areFinite(listed.get(), position));
      std::vector<double> logprobs;
      std::vector<TokenLogprob> top;
      whole.appendLogprobs(row.logits.data(), position, *found, 3, logprobs,
                           top);
      std::vector<double> ofColumns;
      std::vector<TokenLogprob> topOfColumns;
      whole.appendLogprobs(listed.get(), position, *found, 3, ofColumns,
                           topOfColumns);
      EXPECT_EQ(ofColumns, logprobs);
      EXPECT_EQ(topOfColumns.size(), top.size());
      position.allowed = nullptr;
      std::vector<double> expectedLogprobs;
      std::vector<TokenLogprob> expectedTop;
      small.appendLogprobs(row.compact.data(), position, expected, 3,
                           expectedLogprobs, expectedTop);
      EXPECT_EQ(logprobs, expectedLogprobs);
      ASSERT_EQ(top.size(), expectedTop.size());
      for (size_t i = 0; i != top.size(); ++i) {
        EXPECT_EQ(top[i].token, row.list[size_t(expectedTop[i].token)]);
        EXPECT_EQ(top[i].logprob, expectedTop[i].logprob);
      }
    }
  }
}

TEST(Shortlist, beams_have_the_bits_of_a_smaller_head) {
  for (uint32_t seed = 0; seed != 40; ++seed) {
    const ListedRow row(seed, 900, 1 + seed % 9);
    auto config = resolved([&](auto &c) {
      c.numBeams = 1 + seed % 5;
      c.suppressed = {row.list[0]};
    });
    auto small = resolved([&](auto &c) {
      c.numBeams = 1 + seed % 5;
      c.suppressed = {0};
    });
    BeamCandidates whole(config, int64_t(row.logits.size()));
    BeamCandidates compact(small, int64_t(row.compact.size()));
    SamplingPosition position;
    auto expected = compact.find(row.compact.data(), position);
    ASSERT_TRUE(bool(expected));
    position.allowed = &row.list;
    auto found = whole.find(row.logits.data(), position);
    ASSERT_TRUE(bool(found)) << found.error().message;
    ASSERT_EQ((*found)->size(), (*expected)->size());
    const ColumnRow listed(row);
    for (const LogitRow &values : {LogitRow(row.logits.data()), listed.get()}) {
      found = whole.find(values, position);
      ASSERT_TRUE(bool(found)) << found.error().message;
      for (size_t i = 0; i != (*found)->size(); ++i) {
        EXPECT_EQ((**found)[i].token, row.list[size_t((**expected)[i].token)]);
        EXPECT_EQ((**found)[i].logprob, (**expected)[i].logprob);
      }
    }
  }
}

TEST(Shortlist, a_listed_logit_that_is_not_finite) {
  ListedRow row(1, 50, 3);
  row.logits[size_t(row.list[1])] = std::numeric_limits<float>::infinity();
  GenerationConfig config = resolved();
  Sampler sampler(config, int64_t(row.logits.size()));
  SamplingPosition position;
  position.allowed = &row.list;
  EXPECT_EQ(sampler.choose(row.logits.data(), position).error().message,
            "a logit is not finite");
  EXPECT_FALSE(sampler.areFinite(row.logits.data(), position));
  auto beams = resolved([](auto &c) { c.numBeams = 2; });
  BeamCandidates candidates(beams, int64_t(row.logits.size()));
  EXPECT_FALSE(bool(candidates.find(row.logits.data(), position)));
}

TEST(Shortlist, nothing_is_left_where_all_listed_tokens_are_suppressed) {
  ListedRow row(1, 50, 3);
  auto config = resolved([&](auto &c) { c.suppressed = row.list; });
  Sampler sampler(config, int64_t(row.logits.size()));
  SamplingPosition position;
  position.allowed = &row.list;
  EXPECT_EQ(sampler.choose(row.logits.data(), position).error().message,
            "no token is left to be chosen");
}
