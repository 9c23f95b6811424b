// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences with a 300-position window: the freed blocks, the required block
// count, and that it suffices for any operations.
#include "test/support/fake/FakeDecoder.h"
#include <random>

using namespace transom;
using namespace transom::test;

/// A manifest whose groups all have windows.
static Manifest windowManifest(int64_t window) {
  Manifest manifest = fakeDecoderManifest(32768);
  manifest.decoder->caches[0].window = window;
  return manifest;
}

TEST(DecoderWindows, a_window_frees_what_lies_behind_it) {
  FakeDecoder fake(decoderConfig(1, 3000, 64), fakeDecoderManifest(3000));
  const KvPlan plan =
      *KvPlan::create(*fakeDecoderManifest(3000).decoder, {1, 3000}, 64);
  EXPECT_EQ(plan.groups[0].numBlocks, 12);
  // (300 + 254 + 64) / 256 + 1, and one more window for cancelled steps.
  EXPECT_EQ(plan.groups[1].numBlocks, 6);
  int32_t sequence = fake.create();
  for (unsigned i = 0; i != 10; ++i)
    fake.feed(sequence, randomTokens(290, i), 2);
  fake.checkFed();
}

TEST(DecoderWindows, a_long_context_takes_the_blocks_of_its_windows) {
  Manifest manifest = windowManifest(1000);
  const ManifestDecoder &decoder = *manifest.decoder;
  for (int64_t sequences : {1, 4}) {
    KvPlan plan =
        *KvPlan::create(decoder, {sequences, sequences * 32768}, 1024);
    EXPECT_EQ(plan.groups[0].numBlocks,
              (sequences * 1254 + 1024) / 256 + sequences + 5);
    EXPECT_EQ(plan.longest, 32768);
  }
}

TEST(DecoderWindows, what_a_window_dropped_cannot_be_seen_again) {
  FakeDecoder fake(decoderConfig(2, 4000, 64));
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(900, 1), 1);
  fake.feed(sequence, randomTokens(20, 2), 1);
  // The first row after 900 sees positions from 601 on, which is in block 2.
  fake.rewind(sequence, 900);
  fake.feed(sequence, randomTokens(20, 3), 20);
  Result<void> done = fake->rewind(sequence, 700);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Limit);
  EXPECT_NE(done.error().message.find("its window of 300 has dropped "
                                      "positions 0 to 511"),
            std::string::npos)
      << done.error().message;
  EXPECT_EQ(fake->length(sequence), 920);
  fake.feed(sequence, randomTokens(20, 4), 20);
  fake.rewind(sequence, 0);
  fake.feed(sequence, randomTokens(400, 5), 20);
  fake.checkFed();
}

TEST(DecoderWindows, copies_with_windows) {
  FakeDecoder fake(decoderConfig(3, 6000, 64));
  int32_t first = fake.create();
  fake.feed(first, randomTokens(1000, 1), 1);
  int32_t copy = fake.copy(first);
  fake.feed(copy, randomTokens(700, 2), 4);
  int32_t other = fake.copy(first);
  fake.feed(first, randomTokens(10, 3), 10);
  fake.feed(other, randomTokens(600, 4), 10);
  fake.checkFed();
}

TEST(DecoderWindows, a_window_anywhere_over_blocks_has_room) {
  // The old window reaches into three blocks, and so does the new one.
  FakeDecoder fake(decoderConfig(1, 3000, 64), fakeDecoderManifest(3000));
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(554, 1), 1);
  fake.feed(sequence, randomTokens(1000, 2), 1);
  fake.checkFed();
}

TEST(DecoderWindows, sequences_that_rest_are_in_nobodys_way) {
  // After a run with 1000 tokens each has more blocks than its window needs.
  FakeDecoder fake(decoderConfig(8, 16000, 1000));
  std::vector<int32_t> sequences;
  for (unsigned i = 0; i != 8; ++i) {
    sequences.push_back(fake.create());
    fake.feed(sequences.back(), randomTokens(1000, i), 1);
  }
  for (int32_t sequence : sequences)
    fake.feed(sequence, randomTokens(10, 9), 10);
  fake.checkFed();
}

TEST(DecoderWindows, while_there_is_room_the_last_walk_can_be_taken_back) {
  FakeDecoder fake(decoderConfig(4, 8000, 1000));
  int32_t sequence = fake.create();
  fake.feed(sequence, randomTokens(400, 1), 1);
  fake.feed(sequence, randomTokens(900, 2), 1);
  fake.rewind(sequence, 400);
  fake.feed(sequence, randomTokens(20, 3), 20);
  fake.checkFed();
}

TEST(DecoderWindows, long_steps_of_many_may_have_to_come_in_turn) {
  // Each keeps its old window until all have finished: 4 times 3 out of 9
  // blocks.
  FakeDecoder fake(decoderConfig(2, 4000, 64));
  int32_t a = fake.create(), b = fake.create();
  fake.feed(a, randomTokens(554, 1), 1);
  fake.feed(b, randomTokens(554, 2), 1);
  std::vector<int64_t> ids = randomTokens(900, 3);
  StepInput rows[] = {{a, ids.data(), 900, 1}, {b, ids.data(), 900, 1}};
  Result<const float *> done = fake->step(rows, 2);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Limit);
  EXPECT_NE(done.error().message.find("a step of fewer tokens needs less"),
            std::string::npos)
      << done.error().message;
  EXPECT_EQ(fake->length(a), 554);
  fake.feed(a, ids, 1);
  fake.feed(b, ids, 1);
  fake.checkFed();
}

TEST(DecoderWindows, no_step_of_one_walk_or_one_sequence_is_refused) {
  std::mt19937 random(3);
  for (unsigned round = 0; round != 12; ++round) {
    const int64_t sizes[] = {1, 5, 64, 300, 1024};
    int64_t sequences = 1 + int64_t(random() % 5), most = sizes[round % 5];
    FakeDecoder fake(decoderConfig(sequences, sequences * 2000, most));
    std::vector<int32_t> open;
    for (int64_t i = 0; i != sequences; ++i)
      open.push_back(fake.create());
    for (unsigned i = 0; i != 12; ++i) {
      FakeStep step;
      int64_t left = most;
      bool alone = random() % 2 == 0;
      std::shuffle(open.begin(), open.end(), random);
      for (int32_t &sequence : open) {
        int64_t free = 2000 - fake->length(sequence);
        int64_t take = std::min(alone ? 700 : left, free);
        if (take == 0)
          continue;
        take = 1 + int64_t(random() % uint64_t(take));
        left -= take;
        step.add(sequence, randomTokens(size_t(take), unsigned(random())), 1);
        if (alone)
          break;
      }
      if (step.size())
        fake.run(step);
      int32_t &sequence = open[random() % open.size()];
      if (fake->length(sequence) > 1500) {
        fake->free(sequence);
        sequence = fake.create();
      }
    }
    fake.checkFed();
  }
}
