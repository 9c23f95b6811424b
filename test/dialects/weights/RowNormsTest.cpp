// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Norms that are cached by source and row.
#include "dialects/weights/RowNorms.h"
#include "test/dialects/weights/MemorySource.h"

using namespace transom;
using namespace transom::test;

TEST(RowNorms, are_known_by_source_and_row) {
  RowNorms norms;
  MemorySource one, other;
  double found[2] = {};
  EXPECT_FALSE(norms.find(&one, 0, 1, found));
  norms.add(&one, 4, 1, {2.5, 0.0});
  EXPECT_TRUE(norms.find(&one, 1, 2, found));
  EXPECT_EQ(found[0], 2.5);
  EXPECT_EQ(found[1], 0.0);
  EXPECT_FALSE(norms.find(&one, 0, 2, found));
  EXPECT_FALSE(norms.find(&other, 1, 1, found));
}

TEST(RowNorms, of_another_source_replace_those_that_are_kept) {
  RowNorms norms;
  MemorySource one, other;
  double found = 0;
  norms.add(&one, 2, 0, {1, 2});
  norms.add(&other, 3, 2, {7});
  EXPECT_FALSE(norms.find(&one, 0, 1, &found));
  EXPECT_FALSE(norms.find(&other, 0, 1, &found));
  EXPECT_TRUE(norms.find(&other, 2, 1, &found));
  EXPECT_EQ(found, 7);
}

TEST(RowNorms, make_an_expression) {
  EXPECT_EQ(withNorms(WeightExpr::file("a"), WeightExpr::file("n")).str(),
            "with_norms(file(\"a\"), file(\"n\"))");
}
