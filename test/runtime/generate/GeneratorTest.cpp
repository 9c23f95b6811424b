// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop over a hand-written model: the same continuations alone and in any
// batch, with little memory and much; ends, contexts, cancelling.
#include "runtime/generate/Generator.h"
#include "test/runtime/generate/FakeSource.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

using Change = std::function<void(GenerationConfig &)>;

static GenerationConfig resolved(const Change &change = {}) {
  GenerationConfig config;
  config.maxNewTokens = 12;
  if (change)
    change(config);
  Result<void> done = config.resolve();
  EXPECT_TRUE(bool(done)) << done.error().message;
  return config;
}

static std::vector<Continuation> run(FakeSource &source,
                                     const GenerationConfig &config,
                                     const Prompts &prompts,
                                     const GenerationCallback &callback = {}) {
  std::vector<Continuation> rows;
  Result<void> done =
      generate(source, config, nullptr, prompts, callback, rows);
  EXPECT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(source.openCount(), 0u);
  return rows;
}

static Error runFails(FakeSource &source, const GenerationConfig &config,
                      const Prompts &prompts) {
  std::vector<Continuation> rows;
  Result<void> done = generate(source, config, nullptr, prompts, {}, rows);
  EXPECT_FALSE(bool(done));
  EXPECT_EQ(source.openCount(), 0u);
  return done ? Error{} : done.takeError();
}

static std::vector<int64_t> getGreedy(const FakeSource &source,
                                      std::vector<int64_t> past, size_t count) {
  const size_t prompt = past.size();
  while (past.size() != prompt + count) {
    int64_t best = 0;
    for (int64_t token = 1; token != source.width(); ++token)
      if (source.getLogit(past, token) > source.getLogit(past, best))
        best = token;
    past.push_back(best);
  }
  return {past.begin() + int64_t(prompt), past.end()};
}

static std::vector<std::vector<int64_t>>
getTokens(const std::vector<Continuation> &rows) {
  std::vector<std::vector<int64_t>> tokens;
  for (const Continuation &row : rows)
    tokens.push_back(row.tokens);
  return tokens;
}

TEST(Generator, greedy) {
  FakeSource source(40, 4, 10);
  auto rows = run(source, resolved(), {{1, 2, 3}});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].tokens, getGreedy(source, {1, 2, 3}, 12));
  EXPECT_EQ(rows[0].finish, FinishReason::Length);
  EXPECT_EQ(source.fed, 3 + 11); // the last token is never fed
}

TEST(Generator, a_summary_gives_the_same_tokens) {
  const Prompts prompts = makePrompts(5, 30);
  for (bool sample : {false, true}) {
    GenerationConfig config;
    config.maxNewTokens = 20;
    config.sample = sample;
    config.noRepeatNgramSize = 2;
    config.badWords = {{9}, {3, 4}};
    ASSERT_TRUE(bool(config.resolve()));
    FakeSource source(1000, 20, 1000);
    std::vector<Continuation> expected, rows;
    ASSERT_TRUE(bool(generate(source, config, nullptr, prompts, {}, expected)));
    source.summarizes = true;
    ASSERT_TRUE(bool(generate(source, config, nullptr, prompts, {}, rows)));
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i != rows.size(); ++i)
      EXPECT_EQ(rows[i].tokens, expected[i].tokens) << "row " << i;
  }
}

TEST(Generator, sources) {
  GenerationPrompts prompts = makePrompts(7, 30);
  for (const std::vector<int64_t> &ids : prompts.ids)
    prompts.masks.emplace_back(ids.size(), 1);
  prompts.masks[1].front() = 0;
  prompts.ids[2].push_back(39); // padding
  prompts.masks[2].push_back(0);
  prompts.targetPrefixes.resize(7);
  prompts.targetPrefixes[3] = {2, 8}; // begins with the start token
  prompts.targetPrefixes[4] = {6};
  auto config = resolved([](auto &c) {
    c.decoderStart = 2;
    c.maxNewTokens.reset();
    c.maxLength = 8;
  });
  for (int64_t room : {20, 3, 1}) {
    FakeSource source(40, room, 100);
    source.sourceLimit = 31;
    std::vector<Continuation> rows;
    ASSERT_TRUE(bool(generate(source, config, nullptr, prompts, {}, rows)));
    EXPECT_EQ(source.openCount(), 0u);
    EXPECT_EQ(source.sourcesAdded, 7u);
    if (room == 20)
      EXPECT_EQ(source.sourceCalls, 1u);
    for (size_t i = 0; i != 7; ++i) {
      std::vector<int64_t> past;
      for (size_t j = 0; j != prompts.ids[i].size(); ++j)
        if (prompts.masks[i][j])
          past.push_back(prompts.ids[i][j]);
      past.push_back(2);
      if (i == 3 || i == 4)
        past.push_back(i == 3 ? 8 : 6);
      const size_t before = i == 3 || i == 4 ? 2 : 1;
      EXPECT_EQ(rows[i].tokens, getGreedy(source, past, 8 - before)) << i;
      EXPECT_EQ(rows[i].promptTokens, before);
    }
  }
}

TEST(Generator, sources_that_are_refused) {
  FakeSource source(40, 4, 10);
  source.sourceLimit = 5;
  auto config = resolved([](auto &c) { c.decoderStart = 2; });
  EXPECT_EQ(runFails(source, config, {{1}, {}}).message,
            "prompt 1 has no tokens; a source has 1 or more");
  EXPECT_EQ(runFails(source, config, {{1, 2, 3, 4, 5, 6}}).status,
            Status::Limit);
  EXPECT_EQ(runFails(source, config, {{1, 40}}).status, Status::Rejected);
  EXPECT_NE(runFails(source, resolved(), {{1}})
                .message.find("'decoder_start_token_id'"),
            std::string::npos);
  auto shift = resolved([](auto &c) {
    c.decoderStart = 2;
    c.contextPolicy = ContextPolicy::Shift;
  });
  EXPECT_EQ(runFails(source, shift, {{1}}).status, Status::Unsupported);
  EXPECT_EQ(source.sourceCalls, 0u);
}

TEST(Generator, company_and_room_do_not_matter) {
  const Prompts prompts = makePrompts(9, 300);
  auto config = resolved([](auto &c) {
    c.sample = true;
    c.numReturnSequences = 3;
    c.maxNewTokens = 300;
    c.seed = 5;
  });
  Prompts expected;
  for (const auto &prompt : prompts) {
    FakeSource source(40, 3, 100);
    for (auto &row : run(source, config, {prompt}))
      expected.push_back(row.tokens);
  }
  EXPECT_NE(expected[0], expected[1]);
  for (auto [sequences, blocks, logitLimit] : {std::tuple(27, 200, 64),
                                               {5, 200, 64},
                                               {27, 9, 64},
                                               {1, 3, 1},
                                               {27, 200, 2}}) {
    FakeSource source(40, sequences, blocks);
    source.logitLimit = logitLimit;
    EXPECT_EQ(getTokens(run(source, config, prompts)), expected)
        << sequences << " " << blocks << " " << logitLimit;
  }
}

TEST(Generator, continuations_share_the_prompt) {
  FakeSource source(40, 8, 10);
  auto config = resolved([](auto &c) {
    c.sample = true;
    c.numReturnSequences = 4;
  });
  auto rows = run(source, config, {std::vector<int64_t>(500, 7)});
  EXPECT_EQ(source.copies, 3u);
  EXPECT_EQ(source.fed, 500 + 4 * 11);
  EXPECT_NE(rows[0].tokens, rows[1].tokens);
  EXPECT_EQ(rows[3].number, 3u);
}

TEST(Generator, rows_that_are_finished_leave) {
  FakeSource source(40, 8, 10);
  Prompts prompts = makePrompts(6, 9);
  const int64_t end = getGreedy(source, prompts[2], 12)[1];
  auto config = resolved([&](auto &c) { c.endTokens = {end}; });
  auto rows = run(source, config, prompts);
  EXPECT_EQ(rows[2].finish, FinishReason::End);
  EXPECT_LE(rows[2].tokens.size(), 2u);
  EXPECT_EQ(rows[2].tokens.back(), end);
  config.ignoreEnd = true;
  rows = run(source, config, prompts);
  EXPECT_EQ(rows[2].tokens, getGreedy(source, prompts[2], 12));
  EXPECT_EQ(rows[2].finish, FinishReason::Length);
}

TEST(Generator, many_prompts_go_through_a_few_sequences) {
  FakeSource source(40, 4, 10);
  Prompts prompts = makePrompts(30, 5);
  auto rows = run(source, resolved(), prompts);
  EXPECT_EQ(source.mostRows, 4u);
  for (size_t i = 0; i != prompts.size(); ++i)
    EXPECT_EQ(rows[i].tokens, getGreedy(source, prompts[i], 12)) << i;
}

TEST(Generator, stops_at_the_end_of_the_context) {
  FakeSource source(40, 2, 10, 10);
  auto rows = run(source, resolved(), {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(rows[0].tokens.size(), 4u);
  EXPECT_EQ(rows[0].finish, FinishReason::Context);
  rows = run(source, resolved(), {std::vector<int64_t>(10, 1)});
  EXPECT_TRUE(rows[0].tokens.empty());
  EXPECT_EQ(rows[0].finish, FinishReason::Context);
  auto exact = resolved([](auto &c) { c.maxNewTokens = 4; });
  rows = run(source, exact, {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(rows[0].finish, FinishReason::Length);
}

TEST(Generator, long_prompts) {
  FakeSource source(40, 2, 10, 10);
  const std::vector<int64_t> prompt = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12};
  Error error = runFails(source, resolved(), {{1}, prompt});
  EXPECT_EQ(error.status, Status::Limit);
  EXPECT_EQ(error.message, "prompt 1 has 12 tokens, more than the model's "
                           "context of 10");
  auto truncate = resolved([](auto &c) {
    c.contextPolicy = ContextPolicy::Truncate;
    c.maxNewTokens = 3;
  });
  auto rows = run(source, truncate, {prompt});
  EXPECT_EQ(rows[0].promptTokens, 7u);
  EXPECT_EQ(rows[0].tokens, getGreedy(source, {4, 3, 2, 1, 0, 11, 12}, 3));
  truncate.maxNewTokens = 100; // at least half the context is kept
  rows = run(source, truncate, {prompt});
  EXPECT_EQ(rows[0].promptTokens, 5u);
  EXPECT_EQ(rows[0].tokens.size(), 5u);
}

TEST(Generator, context_shift_goes_on_with_half_of_it) {
  FakeSource source(40, 2, 10, 10);
  auto config = resolved([](auto &c) {
    c.contextPolicy = ContextPolicy::Shift;
    c.maxNewTokens = 25;
  });
  auto rows = run(source, config, {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(rows[0].finish, FinishReason::Length);
  // Computed by hand: if eleven tokens would be visible, only the last five
  // are.
  std::vector<int64_t> all = {1, 2, 3, 4, 5, 6}, seen = all;
  while (all.size() != 31) {
    if (seen.size() > 10)
      seen.erase(seen.begin(), seen.end() - 5);
    const int64_t token = getGreedy(source, seen, 1)[0];
    all.push_back(token);
    seen.push_back(token);
  }
  EXPECT_EQ(rows[0].tokens, std::vector<int64_t>(all.begin() + 6, all.end()));
  rows = run(source, config, {std::vector<int64_t>(40, 3)});
  EXPECT_EQ(rows[0].tokens.size(), 25u);
}

TEST(Generator, prompts_that_are_refused) {
  FakeSource source(40, 2, 10);
  Error error = runFails(source, resolved(), {{}});
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message,
            "prompt 0 is empty, and the model has no begin token");
  error = runFails(source, resolved(), {{1}, {3, 40}});
  EXPECT_EQ(error.message, "prompt 1: id 40 at position 1 lies outside the "
                           "vocabulary of 40");
  EXPECT_EQ(runFails(source, resolved(), {{-1}}).status, Status::Rejected);
  error =
      runFails(source, resolved([](auto &c) { c.stopStrings = {"x"}; }), {{1}});
  EXPECT_EQ(error.status, Status::Unsupported);
  auto begins = resolved([](auto &c) { c.beginToken = 5; });
  EXPECT_EQ(run(source, begins, {{}})[0].tokens, getGreedy(source, {5}, 12));
  EXPECT_TRUE(run(source, resolved(), {}).empty());
}

TEST(Generator, no_token_is_left) {
  FakeSource source(40, 2, 10);
  std::vector<int64_t> all;
  for (int64_t token = 0; token != source.width(); ++token)
    all.push_back(token);
  auto none = resolved([&](auto &c) { c.suppressedAtBegin = all; });
  EXPECT_EQ(runFails(source, none, {{1}}).message,
            "prompt 0: no token is left to be chosen");
}

TEST(Generator, logits_that_are_no_numbers) {
  FakeSource source(40, 2, 10);
  source.poisonAt = 5;
  Error error = runFails(source, resolved(), {{1, 2, 3}});
  EXPECT_EQ(error.status, Status::Rejected);
  EXPECT_EQ(error.message, "prompt 0: non-finite logit at position 4: the "
                           "weights or the input give NaN or infinity");
  source.poisonAt = SIZE_MAX;
  EXPECT_EQ(run(source, resolved(), {{1}})[0].tokens.size(), 12u);
}

TEST(Generator, no_new_tokens) {
  FakeSource source(40, 2, 10);
  auto rows = run(source, resolved([](auto &c) { c.maxNewTokens = 0; }), {{1}});
  EXPECT_TRUE(rows[0].tokens.empty());
  EXPECT_EQ(rows[0].finish, FinishReason::Length);
  EXPECT_EQ(source.steps, 0u);
}

TEST(Generator, cancelling) {
  FakeSource source(40, 3, 10);
  source.cancelAt = 5;
  std::vector<Continuation> rows;
  std::vector<int64_t> ended;
  Result<void> done = generate(
      source, resolved(), nullptr, {{1}, {2}},
      [&](const GenerationEvent &event) {
        if (event.token < 0)
          ended.push_back(int64_t(event.continuation.prompt));
        return true;
      },
      rows);
  ASSERT_FALSE(bool(done));
  EXPECT_EQ(done.error().status, cancelledStep);
  EXPECT_EQ(source.openCount(), 0u);
  for (size_t i = 0; i != 2; ++i) {
    EXPECT_EQ(rows[i].finish, FinishReason::Cancelled);
    EXPECT_EQ(rows[i].tokens, getGreedy(source, {int64_t(i) + 1}, 5));
  }
  EXPECT_EQ(ended, (std::vector<int64_t>{0, 1}));
}

TEST(Generator, the_callback_sees_all_and_may_end_a_row) {
  FakeSource source(40, 3, 10);
  std::vector<std::vector<int64_t>> seen(2);
  auto rows =
      run(source, resolved(), {{1}, {2}}, [&](const GenerationEvent &event) {
        auto &tokens = seen[event.continuation.prompt];
        tokens.push_back(event.token);
        return event.continuation.prompt == 1 || tokens.size() < 3;
      });
  EXPECT_EQ(rows[0].finish, FinishReason::Cancelled);
  EXPECT_EQ(rows[0].tokens, getGreedy(source, {1}, 3));
  EXPECT_EQ(rows[1].finish, FinishReason::Length);
  EXPECT_EQ(seen, getTokens(rows));
}

TEST(Generator, log_probabilities) {
  FakeSource source(40, 3, 10);
  auto config = resolved([](auto &c) { c.topLogprobs = 3; });
  auto rows = run(source, config, {{1, 2}});
  ASSERT_EQ(rows[0].logprobs.size(), 12u);
  ASSERT_EQ(rows[0].top.size(), 36u);
  std::vector<int64_t> past = {1, 2};
  for (size_t i = 0; i != 12; ++i) {
    double sum = 0;
    for (int64_t token = 0; token != 40; ++token)
      sum += std::exp(double(source.getLogit(past, token)));
    EXPECT_NEAR(rows[0].logprobs[i],
                double(source.getLogit(past, rows[0].tokens[i])) -
                    std::log(sum),
                1e-12);
    EXPECT_EQ(rows[0].top[3 * i].token, rows[0].tokens[i]);
    EXPECT_LE(rows[0].top[3 * i + 1].logprob, rows[0].logprobs[i]);
    past.push_back(rows[0].tokens[i]);
  }
}
