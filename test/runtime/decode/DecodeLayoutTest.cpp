// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory regions in a decode engine: its logit capacity, and its requests
// to the executor's mapping.
#include "runtime/decode/DecodeLayout.h"
#include "test/support/fake/Fake.h"

using namespace transom;
using namespace transom::test;

/// The layout for steps with at most `maxTokens` tokens that return rows with
/// `width` floats.
static Result<DecodeLayout> layOut(int64_t width, int64_t maxTokens,
                                   int64_t sequences, int64_t positions = 600) {
  ExecutorConfig config;
  config.maxTokens = maxTokens;
  return DecodeLayout::create(*fakeDecoderManifest().decoder, {width}, config,
                              {sequences, positions});
}

TEST(DecodeLayout, logits_are_of_all_tokens_within_32_mib) {
  EXPECT_EQ(layOut(16, 64, 2)->maxLogits, 64);
  EXPECT_EQ(layOut(1 << 18, 64, 2)->maxLogits, 32);
  // There is always a row for each sequence.
  EXPECT_EQ(layOut(1 << 18, 64, 40)->maxLogits, 40);
  EXPECT_EQ(layOut(1 << 24, 64, 3)->maxLogits, 3);
}

TEST(DecodeLayout, asks_for_what_its_plan_needs) {
  Result<DecodeLayout> layout = layOut(16, 64, 2);
  ASSERT_TRUE(layout) << layout.error().message;
  ExecutorExtension extension;
  layout->addTo(extension, {16}, {});
  EXPECT_EQ(extension.maxSequences, 2);
  EXPECT_EQ(extension.maxKeys, layout->plan.longest);
  EXPECT_EQ(extension.maxLogits, 64);
  uint64_t blockBytes = 0, numBlocks = 0;
  for (const KvGroup &group : layout->plan.groups) {
    blockBytes += uint64_t(group.numBlocks * group.blockBytes);
    numBlocks += uint64_t(group.numBlocks);
  }
  EXPECT_EQ(extension.lazyBytes.value(), blockBytes);
  ASSERT_EQ(extension.regions.size(), 15u);
  EXPECT_EQ(extension.regions[0].value(), 2u * 8);
  EXPECT_EQ(extension.regions[3].value(), numBlocks * 4);
  // One scratch row in addition to the rows that a step returns.
  EXPECT_EQ(extension.regions[7].value(), 65u * 16 * 4);
  EXPECT_EQ(extension.regions[8].value(), 0u);
}

TEST(DecodeLayout, a_summary_has_numbers_for_each_group) {
  Result<DecodeLayout> layout = layOut(200, 64, 2);
  ASSERT_TRUE(layout) << layout.error().message;
  ExecutorExtension extension;
  layout->addTo(extension, {200, 0, 4}, {});
  EXPECT_EQ(extension.regions[8].value(), 64u * 4 * 4);
  EXPECT_EQ(extension.regions[9].value(), 64u * 4 * 4);
}

TEST(DecodeLayout, states_of_an_encoder_are_those_of_one_run) {
  Result<DecodeLayout> layout = layOut(16, 64, 2);
  ASSERT_TRUE(layout) << layout.error().message;
  ExecutorConfig config;
  config.maxTokens = 64;
  config.maxBatch = 3;
  ExecutorExtension with, without;
  layout->addTo(without, {16}, config);
  layout->addTo(with, {16, 8}, config);
  for (size_t i = 0; i != 15; ++i)
    EXPECT_EQ(without.regions[i].value(),
              i < 8 ? with.regions[i].value() : uint64_t(0));
  EXPECT_EQ(with.regions[10].value(), 64u * 8);
  EXPECT_EQ(with.regions[12].value(), 64u * 8 * 4);
  EXPECT_EQ(with.regions[13].value(), 3u * 8);
}

TEST(DecodeLayout, regions_are_taken_in_the_order_in_which_they_were_added) {
  Result<DecodeLayout> layout = layOut(16, 64, 2);
  ASSERT_TRUE(layout) << layout.error().message;
  ExecutorLayout executor;
  for (uint64_t i = 0; i != 15; ++i)
    executor.extension.push_back({1000 * i, i});
  executor.lazy = {9000, 9};
  layout->place(executor);
  const Region *regions[] = {
      &layout->lengths,   &layout->firstBlocks,  &layout->blockTables,
      &layout->refCounts, &layout->freeBlocks,   &layout->usedPositions,
      &layout->caches,    &layout->logits,       &layout->maxima,
      &layout->sums,      &layout->sourceIds,    &layout->sourceMask,
      &layout->states,    &layout->sourceBlocks, &layout->sourceOrder};
  for (uint64_t i = 0; i != 15; ++i)
    EXPECT_EQ(regions[i]->offset, 1000 * i);
  EXPECT_EQ(layout->blocks.offset, 9000u);
}

TEST(DecodeLayout, sizes_that_overflow_are_refused) {
  Result<DecodeLayout> layout = layOut(16, 64, 2, INT64_MAX);
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().status, Status::Limit);
}
