// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Beams over a hand-written model: the same results alone and in any batch,
// with little memory and much; never more sequences than beams.
#include "runtime/generate/BeamCandidates.h"
#include "runtime/generate/Generator.h"
#include "test/runtime/generate/FakeSource.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

static GenerationConfig
beamConfig(const std::function<void(GenerationConfig &)> &change = {}) {
  GenerationConfig config;
  config.maxNewTokens = 12;
  config.numBeams = 4;
  config.numReturnSequences = 3;
  config.endTokens = {7};
  if (change)
    change(config);
  Result<void> done = config.resolve();
  EXPECT_TRUE(bool(done)) << done.error().message;
  return config;
}

static std::vector<Continuation>
runBeams(FakeSource &source, const GenerationConfig &config,
         const Prompts &prompts, const GenerationCallback &callback = {}) {
  std::vector<Continuation> rows;
  Result<void> done =
      generate(source, config, nullptr, prompts, callback, rows);
  EXPECT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(source.openCount(), 0u);
  return rows;
}

static Error beamsFail(FakeSource &source, const GenerationConfig &config,
                       const Prompts &prompts) {
  std::vector<Continuation> rows;
  Result<void> done = generate(source, config, nullptr, prompts, {}, rows);
  EXPECT_FALSE(bool(done));
  EXPECT_EQ(source.openCount(), 0u);
  return done ? Error{} : done.takeError();
}

/// The search over one prompt without sequences or steps.
static BeamSearch searchPlainly(const FakeSource &source,
                                const GenerationConfig &config,
                                const std::vector<int64_t> &prompt) {
  BeamSearch search(config, prompt,
                    config.mostNewTokens(int64_t(prompt.size())));
  BeamCandidates candidates(config, source.width());
  while (!search.isDone()) {
    const std::vector<BeamSearch::Beam> beams = search.getBeams();
    for (size_t i = 0; i != beams.size(); ++i) {
      if (i != 0 && beams[i].slot == beams[0].slot)
        continue;
      const std::vector<int64_t> &tokens = search.getTokens(beams[i].slot);
      std::vector<float> logits;
      for (int64_t token = 0; token != source.width(); ++token)
        logits.push_back(source.getLogit(tokens, token));
      SamplingPosition position{tokens.data(), tokens.size(), prompt.size()};
      auto found = candidates.find(logits.data(), position);
      search.add(beams[i].slot, (*found)->data(), (*found)->size());
    }
    search.select();
    search.advance();
  }
  return search;
}

static void expectPlain(const FakeSource &source,
                        const GenerationConfig &config, const Prompts &prompts,
                        const std::vector<Continuation> &rows) {
  const size_t returned = size_t(config.numReturnSequences);
  ASSERT_EQ(rows.size(), prompts.size() * returned);
  for (size_t i = 0; i != rows.size(); ++i) {
    const BeamSearch search =
        searchPlainly(source, config, prompts[i / returned]);
    const BeamSearch::Hypothesis &expected = search.getResults()[i % returned];
    EXPECT_EQ(rows[i].tokens, expected.tokens) << "row " << i;
    EXPECT_EQ(rows[i].score, double(expected.score)) << "row " << i;
    EXPECT_EQ(rows[i].prompt, i / returned);
    EXPECT_EQ(rows[i].number, i % returned);
    EXPECT_EQ(rows[i].finish, expected.end == BeamEnd::Token
                                  ? FinishReason::End
                                  : FinishReason::Length);
  }
}

TEST(BeamGenerator, one_prompt) {
  FakeSource source(40, 4, 10);
  const Prompts prompts = {{1, 2, 3}};
  const GenerationConfig config = beamConfig();
  expectPlain(source, config, prompts, runBeams(source, config, prompts));
  EXPECT_EQ(source.mostOpen, 4u);
  EXPECT_EQ(source.mostRows, 4u);
  EXPECT_GT(source.copies, 3u);
  EXPECT_LE(source.fed, 3 + 11 * 4);
}

// Scores differ in the last bits, since exponentials are summed in another
// order.
TEST(BeamGenerator, a_summary_gives_the_same_beams) {
  const Prompts prompts = makePrompts(5, 30);
  for (bool renormalize : {false, true}) {
    const GenerationConfig config = beamConfig([&](auto &c) {
      c.renormalizeLogits = renormalize;
      c.noRepeatNgramSize = 2;
      c.badWords = {{9}, {3, 4}};
    });
    FakeSource source(1000, 20, 1000);
    const auto expected = runBeams(source, config, prompts);
    source.summarizes = true;
    const auto rows = runBeams(source, config, prompts);
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i != rows.size(); ++i) {
      EXPECT_EQ(rows[i].tokens, expected[i].tokens) << "row " << i;
      EXPECT_NEAR(rows[i].score, expected[i].score, 1e-6) << "row " << i;
    }
  }
}

TEST(BeamGenerator, company_and_room_do_not_matter) {
  const Prompts prompts = makePrompts(9, 300);
  const GenerationConfig config = beamConfig();
  FakeSource roomy(40, 100, 1000);
  roomy.logitLimit = 100;
  expectPlain(roomy, config, prompts, runBeams(roomy, config, prompts));
  EXPECT_EQ(roomy.mostOpen, 36u);
  EXPECT_LE(roomy.steps, 12u);
  // Capacity for two and a half prompts' sequences; then for the logits.
  FakeSource few(40, 10, 1000);
  expectPlain(few, config, prompts, runBeams(few, config, prompts));
  EXPECT_EQ(few.mostOpen, 8u);
  FakeSource narrow(40, 100, 1000);
  narrow.logitLimit = 7;
  expectPlain(narrow, config, prompts, runBeams(narrow, config, prompts));
  EXPECT_EQ(narrow.mostOpen, 4u);
}

TEST(BeamGenerator, a_full_cache_takes_turns) {
  // Prompts near a block end have beams that later need their own blocks.
  Prompts prompts = makePrompts(6, 20);
  for (std::vector<int64_t> &prompt : prompts)
    prompt.resize(250, 5);
  const GenerationConfig config = beamConfig();
  for (int64_t blocks : {8, 9, 13, 18}) {
    FakeSource source(40, 100, blocks);
    expectPlain(source, config, prompts, runBeams(source, config, prompts));
  }
  FakeSource tight(40, 100, 4);
  EXPECT_EQ(beamsFail(tight, config, prompts).status, Status::Limit);
}

TEST(BeamGenerator, sources_are_added_together_and_once) {
  const Prompts prompts = makePrompts(6, 30);
  const GenerationConfig config = beamConfig([](auto &c) {
    c.decoderStart = 2;
    c.forcedBegin = 11;
  });
  std::vector<std::vector<Continuation>> results;
  for (int64_t sequences : {100, 9, 4}) {
    FakeSource source(40, sequences, 1000);
    source.sourceLimit = 31;
    results.push_back(runBeams(source, config, prompts));
    EXPECT_EQ(source.sourcesAdded, 6u);
    EXPECT_LE(source.sourceCalls, sequences == 100 ? 1u : 6u);
    EXPECT_LE(int64_t(source.mostOpen), sequences);
    for (size_t i = 0; i != results[0].size(); ++i) {
      EXPECT_EQ(results.back()[i].tokens, results[0][i].tokens);
      EXPECT_EQ(results.back()[i].score, results[0][i].score);
      EXPECT_EQ(results[0][i].tokens[0], 11);
    }
  }
}

TEST(BeamGenerator, beams_of_a_source_are_next_to_each_other) {
  // Beams end, are reordered and copied; prompts end at different steps, and
  // others replace them.
  const Prompts prompts = makePrompts(12, 30);
  const GenerationConfig config = beamConfig([](auto &c) {
    c.decoderStart = 2;
    c.endTokens = {7, 9, 21, 30};
    c.maxNewTokens = 25;
  });
  std::vector<Continuation> expected;
  for (int64_t sequences : {48, 17, 9}) {
    FakeSource source(40, sequences, 1000);
    source.sourceLimit = 31;
    const std::vector<Continuation> rows = runBeams(source, config, prompts);
    EXPECT_EQ(source.strayRows, 0u);
    // All beams but the first for a prompt; one row for each in its first step.
    EXPECT_GT(source.copies, 50u);
    EXPECT_EQ(source.sharingRows * 4, (source.fed - 12) * 3);
    if (expected.empty())
      expected = rows;
    for (size_t i = 0; i != rows.size(); ++i)
      EXPECT_EQ(rows[i].tokens, expected[i].tokens);
  }
}

TEST(BeamGenerator, sources_that_wait_for_room_stay_together) {
  // All beams reach a second block, for which there is not enough memory.
  const Prompts prompts = makePrompts(3, 30);
  const GenerationConfig config = beamConfig([](auto &c) {
    c.decoderStart = 2;
    c.endTokens.clear();
    c.maxNewTokens = 262;
  });
  FakeSource roomy(40, 12, 1000), tight(40, 12, 11);
  roomy.sourceLimit = tight.sourceLimit = 31;
  const std::vector<Continuation> expected = runBeams(roomy, config, prompts);
  const std::vector<Continuation> rows = runBeams(tight, config, prompts);
  EXPECT_GT(tight.sourcesAdded, 3u) << "one was freed and came back";
  EXPECT_EQ(roomy.strayRows + tight.strayRows, 0u);
  for (size_t i = 0; i != rows.size(); ++i)
    EXPECT_EQ(rows[i].tokens, expected[i].tokens);
}

TEST(BeamGenerator, settings) {
  const Prompts prompts = makePrompts(5, 9);
  for (EarlyStopping stopping :
       {EarlyStopping::False, EarlyStopping::True, EarlyStopping::Never})
    for (double penalty : {0.0, 1.0, 2.0}) {
      const GenerationConfig config = beamConfig([&](auto &c) {
        c.earlyStopping = stopping;
        c.lengthPenalty = penalty;
        c.endTokens = {7, 9};
        c.minNewTokens = 2;
        c.noRepeatNgramSize = 2;
      });
      FakeSource source(40, 20, 100);
      std::vector<Continuation> rows = runBeams(source, config, prompts);
      for (const Continuation &row : rows)
        EXPECT_GE(row.tokens.size(), 2u);
    }
}

TEST(BeamGenerator, the_context_ends_beams) {
  FakeSource source(40, 4, 10, 12);
  const Prompts prompts = {{1, 2, 3}, std::vector<int64_t>(12, 4)};
  auto rows =
      runBeams(source, beamConfig([](auto &c) { c.endTokens = {}; }), prompts);
  for (size_t i = 0; i != 3; ++i) {
    EXPECT_EQ(rows[i].tokens.size(), 9u);
    EXPECT_EQ(rows[i].finish, FinishReason::Context);
    EXPECT_EQ(rows[i + 3].tokens.size(), 0u);
    EXPECT_EQ(rows[i + 3].finish, FinishReason::Context);
  }
}

// All beams are initially children of one, and the token is the same for all.
TEST(BeamGenerator, a_forced_token_at_the_end_gives_all_results) {
  FakeSource source(40, 4, 10);
  const GenerationConfig config = beamConfig([](auto &c) {
    c.maxNewTokens = 1;
    c.forcedEnd = {7};
  });
  auto rows = runBeams(source, config, {{1, 2}});
  ASSERT_EQ(rows.size(), size_t(config.numReturnSequences));
  for (const Continuation &row : rows)
    EXPECT_EQ(row.tokens, std::vector<int64_t>{7});
  EXPECT_EQ(rows[0].score, 0);
  EXPECT_EQ(rows[1].score, -1e9f);
}

TEST(BeamGenerator, what_is_refused) {
  FakeSource few(40, 3, 10);
  EXPECT_EQ(beamsFail(few, beamConfig(), {{1}}).message,
            "'num_beams' 4 is more than the session's 3 sequences");
  FakeSource taken(40, 5, 10);
  ASSERT_TRUE(bool(taken.create()));
  ASSERT_TRUE(bool(taken.create()));
  std::vector<Continuation> rows;
  Result<void> done = generate(taken, beamConfig(), nullptr, {{1}}, {}, rows);
  ASSERT_FALSE(bool(done));
  EXPECT_EQ(done.error().status, Status::Limit);
  FakeSource poisoned(40, 4, 10);
  poisoned.poisonAt = 3;
  EXPECT_EQ(beamsFail(poisoned, beamConfig(), {{1}})
                .message.rfind("prompt 0: non-finite logit at position 2", 0),
            0u);
  FakeSource source(40, 4, 10);
  std::vector<int64_t> all;
  for (int64_t token = 0; token != source.width(); ++token)
    all.push_back(token);
  EXPECT_EQ(
      beamsFail(source, beamConfig([&](auto &c) { c.suppressed = all; }), {{1}})
          .message,
      "prompt 0: no token is left to be chosen");
}

TEST(BeamGenerator, the_callback_gets_results) {
  FakeSource source(40, 8, 10);
  const Prompts prompts = {{1, 2}, {3}};
  std::vector<std::vector<int64_t>> told(6);
  auto rows = runBeams(
      source, beamConfig(), prompts, [&](const GenerationEvent &event) {
        const Continuation &row = event.continuation;
        told[row.prompt * 3 + row.number].push_back(event.token);
        return row.prompt == 0 || row.number != 1;
      });
  for (size_t i = 0; i != 6; ++i)
    EXPECT_EQ(told[i], rows[i].tokens);
  EXPECT_EQ(rows[4].tokens.size(), 1u);
  EXPECT_EQ(rows[4].finish, FinishReason::Cancelled);
}

TEST(BeamGenerator, cancelling) {
  FakeSource source(40, 8, 10);
  source.cancelAt = 4;
  std::vector<Continuation> rows;
  size_t ends = 0;
  Result<void> done = generate(
      source, beamConfig([](auto &c) { c.endTokens = {}; }), nullptr,
      {{1, 2}, {3}},
      [&](const GenerationEvent &event) {
        ends += event.token < 0;
        return true;
      },
      rows);
  ASSERT_FALSE(bool(done));
  EXPECT_EQ(done.error().status, cancelledStep);
  EXPECT_EQ(ends, 6u);
  for (const Continuation &row : rows)
    EXPECT_EQ(row.finish, FinishReason::Cancelled);
  EXPECT_EQ(source.openCount(), 0u);
}
