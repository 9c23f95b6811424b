// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embedding pooling and normalization.
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

TEST(Embed, says_why_a_pipeline_is_refused) {
  Manifest manifest = textManifest();
  manifest.text->pipeline =
      ManifestPipeline{"", "no module", {}, "", "", 0, 0, std::nullopt};
  auto model = fakeModel(manifest, tables());
  Result<size_t> size =
      getEmbeddingSize(*model, transom_embed_options_default());
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().status, Status::Unsupported);
  EXPECT_EQ(size.error().message, "no module");
}

TEST(Embed, puts_a_prompt_before_each_text) {
  auto model = fakeModel(textManifest(), tables());
  transom_embed_options options = transom_embed_options_default();
  options.prompt = "a ";
  EXPECT_EQ(embed(*model, {text("b"), text("c")}, 2, 16, 1, nullptr, options),
            embed(*model, {text("a b"), text("a c")}, 2, 16));
  options.prompt = nullptr;
  options.prompt_name = "query";
  SessionConfig config = makeConfig(1, 16);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  transom_text one = text("a");
  float out[FAKE_WIDTH];
  size_t cut;
  Result<void> done = embedTexts(*session, &one, 1, options, out, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
  EXPECT_EQ(done.error().message, "the model has no prompt 'query'");
}

TEST(Embed, keeps_some_numbers) {
  auto model = fakeModel(textManifest(), tables());
  transom_embed_options options = transom_embed_options_default();
  options.dim = 2;
  SessionConfig config = makeConfig(1, 16);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  transom_text one = text("a b");
  std::vector<float> whole = embed(*model, {one}, 1, 16), out(3, -9);
  size_t cut;
  ASSERT_TRUE(embedTexts(*session, &one, 1, options, out.data(), cut));
  EXPECT_EQ(out, (std::vector<float>{whole[0], whole[1], -9}));
  options.dim = FAKE_WIDTH + 1;
  Result<size_t> size = getEmbeddingSize(*model, options);
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().status, Status::Usage);
}

TEST(Embed, the_mean_of_windows_counts_their_tokens) {
  auto model = fakeModel(textManifest(), tables());
  auto session = makeTextSession(*model);
  const std::vector<transom_text> texts = {text("a b c a b"), text("a b"),
                                           text("c a"), text("b")};
  transom_embed_options options = transom_embed_options_default();
  options.normalize = 0;
  std::vector<float> alone(4 * FAKE_WIDTH), whole(4 * FAKE_WIDTH);
  size_t cut;
  ASSERT_TRUE(
      embedTexts(*session, texts.data(), 4, options, alone.data(), cut));
  options.chunk = 4;
  ASSERT_TRUE(
      embedTexts(*session, texts.data(), 4, options, whole.data(), cut));
  EXPECT_EQ(cut, 0u);
  for (size_t i = 0; i != FAKE_WIDTH; ++i) {
    const auto window = [&](size_t w) {
      return double(alone[w * FAKE_WIDTH + i]);
    };
    EXPECT_NEAR(whole[i], (2 * window(1) + 2 * window(2) + window(3)) / 5,
                1e-6);
  }
  // Texts that fit have the same bits as without windows.
  EXPECT_TRUE(std::equal(whole.begin() + FAKE_WIDTH, whole.end(),
                         alone.begin() + FAKE_WIDTH));
}

TEST(Embed, windows_that_make_no_sense) {
  auto model = fakeModel(textManifest(), tables());
  auto session = makeTextSession(*model);
  const transom_text one = text("a b c");
  transom_embed_options options = transom_embed_options_default();
  std::vector<float> out(FAKE_WIDTH);
  size_t cut;
  options.overlap = 1;
  EXPECT_EQ(
      embedTexts(*session, &one, 1, options, out.data(), cut).error().message,
      "an overlap needs a chunk");
  options.chunk = 9;
  EXPECT_EQ(
      embedTexts(*session, &one, 1, options, out.data(), cut).error().message,
      "a chunk of 9 tokens; the model takes 8 at most");
}
