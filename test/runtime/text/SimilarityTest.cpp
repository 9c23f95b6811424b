// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The similarity functions in sentence-transformers.
#include "runtime/text/Similarity.h"
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

TEST(Similarity, functions) {
  const float a[] = {3, 0, 4}, b[] = {1, 2, 2}, zero[] = {0, 0, 0};
  EXPECT_DOUBLE_EQ(getSimilarity("cosine", a, b, 3), 11.0 / 15);
  EXPECT_DOUBLE_EQ(getSimilarity("dot", a, b, 3), 11);
  EXPECT_DOUBLE_EQ(getSimilarity("euclidean", a, b, 3), -std::sqrt(12.0));
  EXPECT_DOUBLE_EQ(getSimilarity("manhattan", a, b, 3), -6);
  EXPECT_EQ(getSimilarity("cosine", a, zero, 3), 0);
}

TEST(Similarity, the_function_of_the_model) {
  Manifest manifest = textManifest();
  EXPECT_EQ(getSimilarityFunction(*fakeModel(manifest, tables())), "cosine");
  manifest.text->pipeline.emplace();
  EXPECT_EQ(getSimilarityFunction(*fakeModel(manifest, tables())), "cosine");
  manifest.text->pipeline->similarity = "manhattan";
  EXPECT_EQ(getSimilarityFunction(*fakeModel(manifest, tables())), "manhattan");
}
