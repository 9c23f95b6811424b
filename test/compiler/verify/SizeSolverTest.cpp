// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Smaller sizes keep products, sums, ratios, order and remainders.
#include "compiler/verify/SizeSolver.h"
#include <gtest/gtest.h>

using namespace transom;

namespace {

/// A decoder with grouped queries: 12 heads of width 128, 2 for keys and
/// values.
SizeRelations makeDecoder() {
  SizeRelations relations;
  relations.heads = {12, 2};
  relations.widths = {128};
  relations.lengths = {4096};
  for (int64_t size : {12, 2, 128, 256, 1536, 8960, 4096, 151936})
    relations.add(size);
  relations.addProduct({{12}, {2}, 2, 12});
  relations.addProduct({{1536}, {12, 128}});
  relations.addProduct({{256}, {2, 128}});
  relations.finish();
  return relations;
}

TEST(SizeSolver, KeepsProductsAndRatios) {
  std::optional<SizeMap> map = solveSizes(makeDecoder(), {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(2), 2);
  EXPECT_EQ(map->get(12), 12);
  EXPECT_EQ(map->get(128), 32);
  EXPECT_EQ(map->get(256), 64);
  EXPECT_EQ(map->get(1536), 384);
}

TEST(SizeSolver, KeepsOrderAndRemainders) {
  const SizeRelations relations = makeDecoder();
  std::optional<SizeMap> map = solveSizes(relations, {});
  ASSERT_TRUE(map);
  int64_t last = 0;
  for (const auto &[size, value] : map->sizes) {
    if (relations.heads.count(size))
      continue;
    EXPECT_GT(value, last) << size;
    EXPECT_EQ(value % 32, size % 32) << size;
    last = value;
  }
  EXPECT_GE(map->get(4096), 64);
}

TEST(SizeSolver, KeepsSumsOfPieces) {
  SizeRelations relations;
  relations.add(768);
  relations.add(2304);
  relations.addRange(2304, 768, 1536);
  relations.finish();
  std::optional<SizeMap> map = solveSizes(relations, {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(2304), 3 * map->get(768));
  EXPECT_EQ(map->getBoundary(2304, 1536), 2 * map->get(768));
  EXPECT_EQ(map->getBoundary(2304, 2304), map->get(2304));
}

TEST(SizeSolver, KeepsRemaindersOfGroups) {
  SizeRelations relations;
  relations.add(4544);
  relations.groups[4544] = {128};
  std::optional<SizeMap> map = solveSizes(relations, {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(4544) % 128, 4544 % 128);
  EXPECT_GE(map->get(4544), 256);
}

// 64 is both a head count and a head width.
TEST(SizeSolver, HeadsOfTheSameNumberAsTheirWidth) {
  SizeRelations relations;
  relations.heads = {64, 8};
  relations.widths = {64};
  relations.addProduct({{64}, {8}, 8, 64});
  relations.addProduct({{4096}, {64, 64}});
  relations.addProduct({{512}, {8, 64}});
  std::optional<SizeMap> map = solveSizes(relations, {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(64), 32);
  EXPECT_EQ(map->get(8), 4);
  EXPECT_EQ(map->get(4096), 32 * 32);
  EXPECT_EQ(map->get(512), 4 * 32);
}

TEST(SizeSolver, FixedSizesStay) {
  SizeRelations relations;
  relations.add(257);
  relations.add(1024);
  relations.fixed = {257};
  std::optional<SizeMap> map = solveSizes(relations, {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(257), 257);
  EXPECT_EQ(map->get(1024), 288);
  SizeRules rules;
  rules.keepsOrder = false;
  map = solveSizes(relations, rules);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(1024), 32);
}

// Two divisions of one size into heads.
TEST(SizeSolver, SearchesForValuesThatAgree) {
  SizeRelations relations;
  relations.heads = {16, 8};
  relations.widths = {64, 128};
  relations.addProduct({{1024}, {16, 64}});
  relations.addProduct({{1024}, {8, 128}});
  std::optional<SizeMap> map = solveSizes(relations, {});
  ASSERT_TRUE(map);
  EXPECT_EQ(map->get(1024), map->get(16) * map->get(64));
  EXPECT_EQ(map->get(1024), map->get(8) * map->get(128));
  EXPECT_LT(map->get(1024), 1024);
}

TEST(SizeSolver, NoSolution) {
  SizeRelations relations;
  relations.fixed = {100};
  relations.addSum({200, {100, 99}});
  EXPECT_FALSE(solveSizes(relations, {}));
}

} // namespace
