// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The number of blocks of each group of caches.
#include "test/support/fake/FakeDecoder.h"

using namespace transom;
using namespace transom::test;

TEST(KvPlan, counts_read_only_caches) {
  constexpr int64_t maxPositions = 600;
  const ManifestDecoder without = *fakeDecoderManifest().decoder;
  ManifestDecoder with = without;
  with.caches.push_back(makeFakeCache(0, maxPositions));
  Result<KvPlan> small = KvPlan::create(without, 4, 2000, 64);
  Result<KvPlan> large = KvPlan::create(with, 4, 2000, 64);
  ASSERT_TRUE(small && large);
  ASSERT_EQ(large->groups.size(), small->groups.size() + 1);
  EXPECT_EQ(large->groups.back().numBlocks, 4 * getNumKvBlocks(maxPositions));
  EXPECT_EQ(large->longest, small->longest);
  for (size_t i = 0; i != small->groups.size(); ++i)
    EXPECT_EQ(large->groups[i].numBlocks, small->groups[i].numBlocks);
}
