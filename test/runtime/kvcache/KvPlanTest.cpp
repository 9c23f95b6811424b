// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Block counts for each cache group.
#include "runtime/manifest/ManifestFields.h"
#include "test/support/fake/FakeDecoder.h"

using namespace transom;
using namespace transom::test;

TEST(KvPlan, counts_read_only_caches) {
  constexpr int64_t maxPositions = 600;
  const ManifestDecoder without = *fakeDecoderManifest().decoder;
  ManifestDecoder with = without;
  with.caches.push_back(makeFakeCache(0, maxPositions));
  Result<KvPlan> small = KvPlan::create(without, {4, 2000}, 64);
  Result<KvPlan> large = KvPlan::create(with, {4, 2000}, 64);
  ASSERT_TRUE(small && large);
  ASSERT_EQ(large->groups.size(), small->groups.size() + 1);
  EXPECT_EQ(large->groups.back().numBlocks, 4 * getNumKvBlocks(maxPositions));
  EXPECT_EQ(large->longest, small->longest);
  for (size_t i = 0; i != small->groups.size(); ++i)
    EXPECT_EQ(large->groups[i].numBlocks, small->groups[i].numBlocks);
}

TEST(KvPlan, counts_the_blocks_of_sources) {
  ManifestDecoder decoder = *fakeDecoderManifest().decoder;
  decoder.encoder = "encode";
  decoder.caches.push_back(makeFakeCache(0, manifest::maxPositions));
  auto countBlocks = [&](const DecodeConfig &sizes, int64_t runTokens) {
    Result<KvPlan> plan = KvPlan::create(decoder, sizes, runTokens);
    return plan ? plan->groups.back().numBlocks : -1;
  };
  // One run fills the cache for a source, so an unlimited source is at most as
  // long as a run.
  EXPECT_EQ(countBlocks({4, 2000, 0}, 64), 4);
  EXPECT_EQ(countBlocks({4, 2000, 0}, 1024), 4 * 4);
  EXPECT_EQ(
      KvPlan::create(decoder, {4, 2000}, 1000)->groups.back().maxPositions,
      1000);
  // Fewer positions than all sequences could have: sequences share sources.
  EXPECT_EQ(countBlocks({256, 2000, 64 * 256}, 1024), 64);
  EXPECT_EQ(countBlocks({256, 2000, 257}, 300), 2);
  // One source with the max length always fits; more blocks than all sequences
  // can fill have no use.
  EXPECT_EQ(countBlocks({256, 2000, 1}, 1024), 4);
  EXPECT_EQ(countBlocks({4, 2000, 1 << 30}, 1024), 16);
  // The model's limit also applies.
  decoder.caches.back().positions = 512;
  EXPECT_EQ(countBlocks({4, 2000, 0}, 1024), 8);
  // All block tables have as many entries as the longest source needs.
  EXPECT_GE(KvPlan::create(decoder, {4, 200}, 1024)->blocksPerSequence, 2);
}
