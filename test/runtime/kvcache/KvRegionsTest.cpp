// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copying and clearing block positions in each cache format: the bytes that are
// touched.
#include "test/runtime/kvcache/CacheFormats.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

TEST(KvRegions, copies_whole_units_and_nothing_else) {
  for (const CacheFormat &format : cacheFormats())
    for (int64_t count : {0, 1, 2, 31, 32, 33, 255, 256}) {
      SCOPED_TRACE(format.name + " " + std::to_string(count));
      const std::vector<int16_t> owners = getPositions(format);
      std::string from(owners.size(), 'a'), to(owners.size(), 'b');
      copyPositions(format.regions, from.data(), to.data(), count);
      for (size_t i = 0; i != owners.size(); ++i) {
        // The first position of the unit that holds the byte.
        const bool copied = owners[i] >= 0 && owners[i] < count;
        ASSERT_EQ(to[i], copied ? 'a' : 'b') << i;
      }
    }
}

TEST(KvRegions, shares_are_a_whole_copy) {
  for (const CacheFormat &format : cacheFormats())
    for (size_t shares : {1, 2, 3, 8, 40}) {
      SCOPED_TRACE(format.name + " " + std::to_string(shares));
      const size_t size = getPositions(format).size();
      std::string from(size, 'a'), to(size, 'b'), expected = to;
      copyPositions(format.regions, from.data(), expected.data(), 70);
      clearPositions(format.regions, expected.data(), 70, 180);
      const KvBlockCopy copy{&format.regions, from.data(), to.data(), 70, 180};
      for (size_t share = shares; share-- != 0;)
        copy.run({share, shares});
      EXPECT_EQ(to, expected);
    }
}

TEST(KvRegions, clears_what_follows_the_units_before) {
  for (const CacheFormat &format : cacheFormats())
    for (int64_t begin : {0, 1, 20, 32, 255})
      for (int64_t end : {0, 1, 21, 32, 33, 256}) {
        SCOPED_TRACE(format.name + " " + std::to_string(begin) + " " +
                     std::to_string(end));
        const std::vector<int16_t> owners = getPositions(format);
        std::string block(owners.size(), 'x');
        clearPositions(format.regions, block.data(), begin, end);
        for (size_t i = 0; i != owners.size(); ++i) {
          const bool cleared = owners[i] >= begin && owners[i] < end;
          ASSERT_EQ(block[i], cleared ? 0 : 'x') << i;
        }
      }
}
