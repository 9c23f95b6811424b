// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder steps over a hand-written artifact whose logits depend on each past
// token: the logits for any token order and split, rejected steps, and that a
// rejected step changes nothing.
#include "test/support/fake/FakeDecoder.h"
#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

using namespace transom;
using namespace transom::test;

TEST(DecodeEngine, is_there_for_a_model_with_a_step) {
  auto model = fakeModel();
  EXPECT_EQ(makeSession(*model, makeConfig(1, 8))->decoder(), nullptr);
  FakeDecoder fake;
  EXPECT_EQ(fake->width(), FAKE_VOCABULARY);
  EXPECT_EQ(fake->vocabulary(), FAKE_VOCABULARY);
  EXPECT_EQ(fake->context(), 2000);
  EXPECT_EQ(fake->longest(), 2000);
}

TEST(DecodeEngine, a_token_sees_its_past) {
  FakeDecoder fake;
  int32_t sequence = fake.create();
  std::vector<int64_t> tokens = randomTokens(700, 1);
  for (size_t i = 0; i != tokens.size(); ++i)
    fake.feed(sequence, {tokens[i]}, 1);
  fake.checkFed();
  EXPECT_EQ(fake->length(sequence), 700);
}

TEST(DecodeEngine, chunks_and_neighbours_do_not_show) {
  std::mt19937 random(7);
  for (int64_t maxTokens : {3, 64, 1000}) {
    SessionConfig config = decoderConfig(5, 4000, maxTokens);
    config.threads = 1 + unsigned(random() % 4);
    FakeDecoder fake(config);
    // Five texts with random lengths.
    std::vector<std::vector<int64_t>> texts;
    std::vector<int32_t> sequences;
    std::vector<size_t> done(5, 0);
    for (unsigned i = 0; i != 5; ++i) {
      texts.push_back(randomTokens(200 + random() % 500, i));
      sequences.push_back(fake.create());
    }
    // Each step takes random chunks from some of them.
    for (bool left = true; left;) {
      FakeStep step;
      left = false;
      for (size_t i = 0; i != 5; ++i) {
        size_t rest = texts[i].size() - done[i];
        left = left || rest;
        if (rest == 0 || random() % 3 == 0)
          continue;
        size_t take = std::min(rest, 1 + random() % (random() % 4 ? 9 : 300));
        auto begin = texts[i].begin() + ptrdiff_t(done[i]);
        step.add(sequences[i], {begin, begin + ptrdiff_t(take)},
                 int64_t(random() % (std::min<size_t>(take, 40) + 1)));
        done[i] += take;
      }
      if (step.size())
        fake.run(step);
    }
    fake.checkFed();
  }
}

TEST(DecodeEngine, a_hosts_threads_run_steps) {
  SessionConfig config = decoderConfig(1, 600);
  config.threads = 3;
  config.parallel = [](void *, size_t count, transom_task task, void *arg) {
    while (count--)
      task(arg, count);
  };
  FakeDecoder fake(config);
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(300, 1), 100);
  fake.checkFed();
}

TEST(DecodeEngine, sessions_of_one_model_on_several_threads) {
  auto model = fakeModel(fakeDecoderManifest());
  auto work = [&](unsigned seed) {
    SessionConfig config = decoderConfig(2, 3000, 16);
    config.threads = 1 + seed % 2;
    auto session = makeSession(*model, config);
    DecodeEngine &decoder = *session->decoder();
    int32_t first = *decoder.create(), second = *decoder.create();
    std::vector<int64_t> tokens = randomTokens(400, seed);
    for (size_t end = 20; end <= tokens.size(); end += 20) {
      StepInput rows[] = {{first, &tokens[end - 20], 20, 1},
                          {second, &tokens[end - 20], 20, 0}};
      Result<const float *> logits = decoder.step(rows, 2);
      ASSERT_TRUE(bool(logits));
      expectRow(*logits, {tokens.begin(), tokens.begin() + ptrdiff_t(end)});
    }
  };
  std::thread other(work, 1), third(work, 2);
  work(3);
  other.join();
  third.join();
}

TEST(DecodeEngine, logits_of_any_number_of_rows_go_to_a_callers_memory) {
  FakeDecoder fake(decoderConfig(1, 600, 7));
  ASSERT_LT(fake->maxLogits(), 50);
  int32_t sequence = fake.create();
  std::vector<int64_t> tokens = randomTokens(60, 3);
  StepInput rows{sequence, tokens.data(), 60, 50};
  std::vector<float> logits(50 * FAKE_VOCABULARY);
  ASSERT_TRUE(bool(fake->stepInto(&rows, 1, logits.data())));
  for (size_t i = 0; i != 50; ++i)
    expectRow(&logits[i * FAKE_VOCABULARY],
              {tokens.begin(), tokens.begin() + ptrdiff_t(11 + i)});
}

/// The values that a step in the hand-written model returns for a row.
static void expectSummary(const StepLogits &out, size_t row) {
  const float *logits = out.logits + row * FAKE_VOCABULARY;
  EXPECT_EQ(out.maxima[row],
            *std::max_element(logits, logits + FAKE_VOCABULARY));
  if (out.sums)
    EXPECT_EQ(out.sums[row],
              std::accumulate(logits, logits + FAKE_VOCABULARY, 0.0f));
}

TEST(DecodeEngine, logits_with_their_summary) {
  for (unsigned threads : {1u, 3u}) {
    SessionConfig config = decoderConfig(2, 1200, 7);
    config.threads = threads;
    FakeDecoder fake(config, summaryManifest());
    const std::vector<int64_t> tokens = randomTokens(20, 3);
    for (LogitSummary summary : {LogitSummary::None, LogitSummary::Maxima,
                                 LogitSummary::MaximaAndSums}) {
      // Several runs; the first sequence's logits are in two of them.
      const int32_t first = fake.create(), second = fake.create();
      const StepInput inputs[] = {{first, tokens.data(), 15, 3},
                                  {second, tokens.data() + 2, 9, 1}};
      Result<StepLogits> out = fake->step(inputs, 2, summary);
      ASSERT_TRUE(out) << out.error().message;
      EXPECT_EQ(out->maxima != nullptr, summary != LogitSummary::None);
      EXPECT_EQ(out->sums != nullptr, summary == LogitSummary::MaximaAndSums);
      for (size_t row = 0; out->maxima && row != 4; ++row)
        expectSummary(*out, row);
      for (size_t i = 0; i != 3; ++i)
        expectRow(out->logits + i * FAKE_VOCABULARY,
                  {tokens.begin(), tokens.begin() + ptrdiff_t(13 + i)});
      fake->free(first);
      fake->free(second);
    }
  }
}

TEST(DecodeEngine, a_step_without_a_summary_gives_none) {
  FakeDecoder fake(decoderConfig(1, 600));
  const int64_t token = 3;
  const StepInput input{fake.create(), &token, 1, 1};
  Result<StepLogits> out = fake->step(&input, 1, LogitSummary::MaximaAndSums);
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_EQ(out->maxima, nullptr);
  EXPECT_EQ(out->sums, nullptr);
  expectRow(out->logits, {token});
}

TEST(DecodeEngine, logits_of_listed_tokens) {
  for (unsigned threads : {1u, 3u}) {
    SessionConfig config = decoderConfig(2, 1200, 7);
    config.threads = threads;
    FakeDecoder fake(config, listedManifest());
    EXPECT_EQ(fake->maxListed(), 9);
    const std::vector<int64_t> tokens = randomTokens(20, 3);
    int64_t calls = 0;
    for (const std::vector<int64_t> &listed :
         {std::vector<int64_t>{3}, {}, {15, 0, 7, 2, 1, 4, 8, 14, 3}}) {
      const int32_t first = fake.create(), second = fake.create();
      const StepInput inputs[] = {{first, tokens.data(), 15, 3},
                                  {second, tokens.data() + 2, 9, 1}};
      // Several runs; steps with all logits are between those with some.
      const auto count = int64_t(listed.size());
      Result<const float *> out =
          count ? fake->stepListed(inputs, 2, {listed.data(), count})
                : fake->step(inputs, 2);
      ASSERT_TRUE(out) << out.error().message;
      for (size_t row = 0; row != 4; ++row) {
        const size_t from = row < 3 ? 0 : 2, to = row < 3 ? 13 + row : 11;
        const std::vector<float> all = expectedLogits(
            {tokens.begin() + ptrdiff_t(from), tokens.begin() + ptrdiff_t(to)});
        for (size_t i = 0; i != (count ? size_t(count) : all.size()); ++i)
          EXPECT_EQ((*out)[count ? row * size_t(count) + i
                                 : row * FAKE_VOCABULARY + i],
                    all[count ? size_t(listed[i]) : i]);
      }
      // The session keeps its memory across calls.
      EXPECT_TRUE(!count || countListedCalls() > calls);
      calls = countListedCalls();
      fake->free(first);
      fake->free(second);
    }
  }
}

TEST(DecodeEngine, wrong_lists_are_refused) {
  const int64_t token = 3, wrong[] = {2, 16}, many[10] = {};
  FakeDecoder plain(decoderConfig(1, 600)),
      fake(decoderConfig(1, 600), listedManifest());
  const StepInput input{plain.create(), &token, 1, 1};
  EXPECT_EQ(plain->maxListed(), 0);
  EXPECT_EQ(plain->stepListed(&input, 1, {&token, 1}).error().message,
            "the model gives no logits of listed tokens");
  const StepInput other{fake.create(), &token, 1, 1};
  EXPECT_EQ(fake->stepListed(&other, 1, {many, 0}).error().message,
            "a step lists 0 tokens; it takes 1 to 9");
  EXPECT_EQ(fake->stepListed(&other, 1, {many, 10}).error().message,
            "a step lists 10 tokens; it takes 1 to 9");
  EXPECT_EQ(fake->stepListed(&other, 1, {wrong, 2}).error().message,
            "listed token 1 is 16; ids are 0 to 15");
  EXPECT_EQ(fake->length(other.sequence), 0);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

TEST(DecodeEngine, copies_share_blocks_and_go_their_own_ways) {
  FakeDecoder fake(decoderConfig(6, 6000));
  int64_t all = fake->allPositions();
  int32_t first = fake.create();
  fake.feed(first, randomTokens(700, 1), 1); // two blocks and a part
  EXPECT_EQ(fake->freePositions(), all - 3 * 256);
  std::vector<int32_t> copies;
  for (int i = 0; i != 4; ++i)
    copies.push_back(fake.copy(first));
  EXPECT_EQ(fake->freePositions(), all - 3 * 256);
  FakeStep step;
  for (unsigned i = 0; i != 4; ++i)
    step.add(copies[i], randomTokens(5, 10 + i), 3);
  step.add(first, randomTokens(5, 20), 5);
  fake.run(step);
  // The last sequence that shared the third block keeps it.
  EXPECT_EQ(fake->freePositions(), all - 7 * 256);
  fake.feed(copies[2], randomTokens(300, 2), 2);
  fake->free(first);
  fake.feed(copies[1], randomTokens(30, 3), 2);
  fake.checkFed();
  for (int32_t copy : copies)
    fake->free(copy);
  EXPECT_EQ(fake->freePositions(), all);
}

TEST(DecodeEngine, a_copy_needs_no_room_until_it_goes_on) {
  FakeDecoder fake(decoderConfig(2, 256 + 100)); // (356 + 510) / 256: 3 blocks
  int32_t first = fake.create();
  fake.feed(first, randomTokens(600, 1), 1);
  ASSERT_EQ(fake->freePositions(), 0);
  int32_t copy = fake.copy(first);
  std::vector<int64_t> token = {3};
  StepInput rows[] = {{copy, token.data(), 1, 1}, {first, token.data(), 1, 1}};
  EXPECT_EQ(fake->step(rows, 2).error().status, Status::Limit);
  fake->free(first);
  fake.feed(copy, {3}, 1); // it now owns the block
  fake.checkFed();
}

TEST(DecodeEngine, a_rewound_sequence_takes_another_way) {
  FakeDecoder fake;
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(290, 1), 1);
  for (int64_t length : {280, 257, 256, 100, 0}) {
    fake.rewind(sequence, length);
    fake.feed(sequence, randomTokens(20, unsigned(length)), 20);
  }
  fake.checkFed();
  EXPECT_EQ(fake->rewind(sequence, 21).error().status, Status::Usage);
  EXPECT_EQ(fake->rewind(sequence, -1).error().status, Status::Usage);
}

TEST(DecodeEngine, a_block_is_zero_when_it_is_taken) {
  FakeDecoder fake(decoderConfig(1, 600));
  int32_t sequence = fake.create();
  fake.feed(sequence, std::vector<int64_t>(600, 9), 1);
  fake->free(sequence);
  sequence = fake.create();
  const float *logits = fake.feed(sequence, {2, 3}, 1);
  EXPECT_EQ(logits[FAKE_VOCABULARY - 1], 0);
  fake.checkFed();
}

TEST(DecodeEngine, all_sequences_may_be_open) {
  FakeDecoder fake(decoderConfig(3, 600));
  EXPECT_EQ(fake->freeSequences(), 3);
  int32_t first = fake.create();
  fake.create();
  fake.create();
  Result<int32_t> more = fake->create();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().status, Status::Limit);
  EXPECT_NE(more.error().message.find("all 3 sequences"), std::string::npos);
  EXPECT_EQ(fake->copy(first).error().status, Status::Limit);
  fake->free(first);
  fake->free(first); // not open: ignored
  fake->free(99);
  EXPECT_EQ(fake->freeSequences(), 1);
  EXPECT_EQ(*fake->create(), first);
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

/// Expects that a step is rejected.
static void expectRefused(FakeDecoder &fake, std::vector<StepInput> rows,
                          Status status, const std::string &text) {
  int64_t free = fake->freePositions();
  Result<const float *> done = fake->step(rows.data(), rows.size());
  ASSERT_FALSE(done) << text;
  EXPECT_EQ(done.error().status, status) << done.error().message;
  EXPECT_NE(done.error().message.find(text), std::string::npos)
      << done.error().message;
  EXPECT_EQ(fake->freePositions(), free);
}

TEST(DecodeEngine, wrong_steps_are_refused_and_change_nothing) {
  FakeDecoder fake(decoderConfig(2, 1000, 64), fakeDecoderManifest(600));
  int32_t a = fake.create(), b = fake.create();
  fake.feed(a, randomTokens(500, 1), 1);
  std::vector<int64_t> ids = randomTokens(700, 2);
  const int64_t *t = ids.data();
  expectRefused(fake, {}, Status::Rejected, "without a sequence");
  expectRefused(fake, {{a, t, 0, 0}}, Status::Rejected, "0 new tokens");
  expectRefused(fake, {{a, t, 2, 3}}, Status::Rejected, "wants logits of 3");
  expectRefused(fake, {{a, t, 2, -1}}, Status::Rejected, "wants logits of -1");
  expectRefused(fake, {{a, nullptr, 2, 1}}, Status::Rejected, "new tokens");
  expectRefused(fake, {{a, t, 1, 1}, {b, t, 1, 1}, {a, t, 1, 1}},
                Status::Rejected, "occurs twice");
  expectRefused(fake, {{7, t, 1, 1}}, Status::Usage, "7 does not exist");
  expectRefused(fake, {{-1, t, 1, 1}}, Status::Usage, "-1 does not exist");
  expectRefused(fake, {{b, t, 5, 1}, {a, t, 101, 1}}, Status::Limit,
                "has 500 positions and would get 101 more, over the model's "
                "context of 600");
  expectRefused(fake, {{b, t, 500, 500}}, Status::Limit,
                "wants the logits of 500 tokens");
  // Counts are checked before anything is read.
  expectRefused(fake, {{a, t, INT64_MAX, 1}}, Status::Limit, "would get 922");
  expectRefused(fake, {{b, t, 601, 0}}, Status::Limit, "would get 601 more");
  expectRefused(fake, {{b, t, INT64_MAX, INT64_MAX}}, Status::Limit, "wants");
  std::vector<int64_t> wrong = {1, 2, FAKE_VOCABULARY};
  expectRefused(fake, {{a, wrong.data(), 3, 1}}, Status::Rejected,
                "token 2 for sequence 0 is 16; ids of this model are 0 to 15");
  wrong[2] = -1;
  expectRefused(fake, {{b, t, 5, 1}, {a, wrong.data(), 3, 1}}, Status::Rejected,
                "is -1");
  EXPECT_EQ(fake->length(a), 500);
  EXPECT_EQ(fake->length(b), 0);
  fake.feed(a, randomTokens(100, 3), 20);
  fake.feed(b, randomTokens(10, 3), 10);
  fake.checkFed();
}

TEST(DecodeEngine, a_full_cache_says_what_is_missing) {
  // (1000 + 2 * 255) / 256: 5 blocks.
  FakeDecoder fake(decoderConfig(2, 1000, 64));
  int32_t a = fake.create(), b = fake.create();
  fake.feed(a, randomTokens(600, 1), 1);
  std::vector<int64_t> ids = randomTokens(1500, 2);
  expectRefused(fake, {{a, ids.data(), 10, 1}, {b, ids.data(), 600, 1}},
                Status::Limit,
                "the cache is full: 768 more positions are needed in blocks "
                "of 256, 512 are free of 1280");
  expectRefused(
      fake, {{b, ids.data(), 1300, 1}}, Status::Limit,
      "would get 1300 more, over the 1280 that the cache holds of one "
      "sequence");
  EXPECT_EQ(fake->length(b), 0);
  fake.feed(b, randomTokens(512, 2), 12);
  fake.feed(a, randomTokens(100, 3), 10);
  fake.checkFed();
  fake->free(a);
  EXPECT_EQ(fake->freePositions(), 768);
}

TEST(DecodeEngine, a_cancelled_step_leaves_sequences_as_they_were) {
  struct Host {
    Session *session = nullptr;
    int until = -1;
  } host;
  // The host cancels the session after a given number of its calls.
  SessionConfig config = decoderConfig(3, 6000, 64);
  config.parallelContext = &host;
  config.parallel = [](void *context, size_t count, transom_task task,
                       void *arg) {
    for (size_t i = 0; i != count; ++i)
      task(arg, i);
    Host &host = *static_cast<Host *>(context);
    if (host.until-- == 0)
      host.session->cancel();
  };
  FakeDecoder fake(config);
  host.session = &fake.session();
  int32_t a = fake.create(), b = fake.create();
  fake.feed(a, randomTokens(700, 1), 1);
  fake.feed(b, randomTokens(10, 2), 1);
  int32_t c = fake.copy(a);
  int64_t free = fake->freePositions();
  // Each cancelled step leaves lengths unchanged and frees its blocks.
  std::vector<int64_t> ids = randomTokens(900, 3);
  for (int until : {0, 2, 6, 20, 26}) { // a run is two host calls
    host.until = until;
    StepInput rows[] = {{a, ids.data(), 800, 1}, {b, ids.data(), 60, 60}};
    Result<const float *> done = fake->step(rows, 2);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().status, cancelledStatus);
    EXPECT_EQ(fake->length(a), 700);
    EXPECT_EQ(fake->length(b), 10);
    EXPECT_GE(fake->freePositions(), free - 256); // the copied last block
  }
  // All sequences continue with correct logits.
  host.until = -1;
  fake.feed(a, randomTokens(100, 4), 20);
  fake.feed(b, randomTokens(100, 5), 20);
  fake.feed(c, randomTokens(100, 6), 20);
  fake.checkFed();
  // A session that was cancelled before a step cancels this step only.
  fake.session().cancel(); // before a step
  StepInput rows{a, ids.data(), 1, 1};
  EXPECT_EQ(fake->step(&rows, 1).error().status, cancelledStatus);
  fake.feed(a, {1}, 1);
  fake.checkFed();
}

TEST(DecodeEngine, another_thread_cancels_at_any_time) {
  SessionConfig config = decoderConfig(2, 8000, 16);
  config.threads = 3;
  FakeDecoder fake(config);
  int32_t a = fake.create(), b = fake.create();
  std::vector<int64_t> first = randomTokens(300, 1), second;
  fake.feed(a, first, 1);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      fake.session().cancel();
      std::this_thread::yield();
    }
  });
  std::vector<int64_t> ids = randomTokens(200, 3);
  int ended = 0;
  // On a busy host the other thread may be late.
  for (int i = 0; i < 50 || (ended == 0 && i < 1000000); ++i) {
    if (first.size() > 1500) {
      ASSERT_TRUE(fake->rewind(a, 0) && fake->rewind(b, 0));
      first.clear();
      second.clear();
    }
    StepInput rows[] = {{a, ids.data(), 200, 1}, {b, ids.data(), 100, 1}};
    if (Result<const float *> done = fake->step(rows, 2); !done) {
      EXPECT_EQ(done.error().status, cancelledStatus);
      ++ended;
    } else {
      first.insert(first.end(), ids.begin(), ids.end());
      second.insert(second.end(), ids.begin(), ids.begin() + 100);
    }
    EXPECT_EQ(fake->length(a), int64_t(first.size()));
    EXPECT_EQ(fake->length(b), int64_t(second.size()));
  }
  stop = true;
  other.join();
  EXPECT_GT(ended, 0);
  (void)fake.session().takeCancel();
  fake.importSequence(a, first);
  fake.importSequence(b, second);
  fake.feed(a, {1, 2}, 2);
  fake.feed(b, {1, 2}, 2);
  fake.checkFed();
}
