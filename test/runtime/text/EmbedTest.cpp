// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pooling and normalization of embeddings.
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

TEST(Embed, mean_and_first_token) {
  auto model = fakeModel(textManifest(), tables());
  // Ids 2 10 20 3: mean 8.75; rows = id + weight + 0.75 * (mean + weight).
  float mean = 8.75f;
  std::vector<float> out = embed(*model, {text("a B")}, 1, 16);
  for (int i = 0; i != FAKE_WIDTH; ++i)
    EXPECT_FLOAT_EQ(out[size_t(i)], 1.75f * (mean + float(i + 1)));
  transom_embed_options options = transom_embed_options_default();
  options.pooling = TRANSOM_POOLING_CLS;
  out = embed(*model, {text("a b")}, 1, 16, 1, nullptr, options);
  for (int i = 0; i != FAKE_WIDTH; ++i)
    EXPECT_FLOAT_EQ(out[size_t(i)],
                    2 + float(i + 1) + 0.75f * (mean + float(i + 1)));
  options.normalize = 1;
  out = embed(*model, {text("a b")}, 1, 16, 1, nullptr, options);
  float length = 0;
  for (float value : out)
    length += value * value;
  EXPECT_NEAR(length, 1.0f, 1e-6f);
}

TEST(Embed, names_the_text_in_errors) {
  auto model = fakeModel(textManifest(), tables());
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  transom_text texts[] = {text("a"), {"\xff", 1}};
  std::vector<float> out(8);
  size_t cut;
  Result<void> done = embedTexts(
      *session, texts, 2, transom_embed_options_default(), out.data(), cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Rejected);
  EXPECT_EQ(done.error().message.substr(0, 8), "text 1: ");
}
