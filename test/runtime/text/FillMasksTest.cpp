// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mask fills: order, probabilities, candidates.
#include "runtime/text/FillMasks.h"
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

/// A masked language model with 4 ids whose logits rise by 1.75 from id to id;
/// the token c is the mask.
static Manifest maskManifest() {
  Manifest manifest = textManifest();
  manifest.head = "masked_lm";
  manifest.entries[0].outputs[0].name = "logits";
  manifest.text->maskToken = 30;
  return manifest;
}

TEST(FillMasks, best_ids_of_each_mask) {
  auto model = fakeModel(maskManifest(), tables());
  auto session = makeTextSession(*model);
  transom_fill_options options = transom_fill_options_default();
  options.top_k = 2;
  Encoding encoding;
  auto filled = fillMasks(*session, text("a c b c"), options, encoding);
  ASSERT_TRUE(filled) << filled.error().message;
  EXPECT_EQ(encoding.ids, (std::vector<int64_t>{2, 10, 30, 20, 30, 3}));
  ASSERT_EQ(filled->size(), 2u);
  double sum = 0;
  for (int i = 0; i != 4; ++i)
    sum += std::exp(1.75 * i);
  for (const FilledMask &mask : *filled) {
    EXPECT_EQ(mask.token, &mask == &filled->front() ? 2u : 4u);
    ASSERT_EQ(mask.fills.size(), 2u);
    EXPECT_EQ(mask.fills[0].id, 3);
    EXPECT_NEAR(mask.fills[0].score, std::exp(1.75 * 3) / sum, 1e-5);
    EXPECT_EQ(mask.fills[1].id, 2);
    EXPECT_NEAR(mask.fills[1].score, std::exp(1.75 * 2) / sum, 1e-5);
  }
}

TEST(FillMasks, candidates_keep_their_probability_among_all) {
  auto model = fakeModel(maskManifest(), tables());
  auto session = makeTextSession(*model);
  transom_fill_options options = transom_fill_options_default();
  Encoding encoding;
  auto all = fillMasks(*session, text("c"), options, encoding);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->front().fills.size(), 4u); // limited by the vocabulary
  const int64_t targets[] = {0, 2, 0};
  options.targets = targets;
  options.num_targets = 3;
  auto some = fillMasks(*session, text("c"), options, encoding);
  ASSERT_TRUE(some) << some.error().message;
  ASSERT_EQ(some->front().fills.size(), 2u);
  EXPECT_EQ(some->front().fills[0].id, 2);
  EXPECT_EQ(some->front().fills[0].score, all->front().fills[1].score);
  EXPECT_EQ(some->front().fills[1].id, 0);
  const int64_t outside = 4;
  options.targets = &outside;
  options.num_targets = 1;
  some = fillMasks(*session, text("c"), options, encoding);
  ASSERT_FALSE(some);
  EXPECT_EQ(some.error().status, Status::Usage);
}

TEST(FillMasks, texts_and_models_without_masks) {
  Manifest manifest = maskManifest();
  auto model = fakeModel(manifest, tables());
  Encoding encoding;
  const transom_fill_options options = transom_fill_options_default();
  auto filled =
      fillMasks(*makeTextSession(*model), text("a"), options, encoding);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().status, Status::Rejected);
  manifest.text->maskToken.reset();
  model = fakeModel(manifest, tables());
  filled = fillMasks(*makeTextSession(*model), text("c"), options, encoding);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().status, Status::Unsupported);
  model = fakeModel(textManifest(), tables());
  filled = fillMasks(*makeTextSession(*model), text("c"), options, encoding);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().status, Status::Unsupported);
}
