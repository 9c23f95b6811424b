// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores by embeddings, and models without scores.
#include "runtime/text/Rerank.h"
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

TEST(Rerank, cosines_of_embeddings) {
  auto model = fakeModel(textManifest(), tables());
  auto session = makeTextSession(*model);
  const std::vector<transom_text> texts = {text("a"), text("b c"), text("a"),
                                           text("c c a a a a a a a")};
  std::vector<float> vectors = embed(*model, texts, 2, 64);
  float scores[3];
  size_t cut = 9;
  Result<void> done =
      rerankTexts(*session, texts[0], &texts[1], 3,
                  transom_rerank_options_default(), scores, cut);
  ASSERT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(cut, 1u);
  for (size_t i = 0; i != 3; ++i) {
    double product = 0, first = 0, second = 0;
    for (size_t j = 0; j != FAKE_WIDTH; ++j) {
      const double a = vectors[j], b = vectors[(i + 1) * FAKE_WIDTH + j];
      product += a * b;
      first += a * a;
      second += b * b;
    }
    EXPECT_NEAR(scores[i], product / std::sqrt(first * second), 1e-6);
  }
  EXPECT_FLOAT_EQ(scores[1], 1);
  EXPECT_LT(scores[0], 1);
}

TEST(Rerank, models_of_several_labels_score_no_pairs) {
  Manifest manifest = textManifest();
  manifest.labels = {"w", "x", "y", "z"};
  manifest.entries[0].outputs[1].name = "logits";
  auto model = fakeModel(manifest, tables());
  const transom_text one = text("a");
  float score;
  size_t cut;
  Result<void> done =
      rerankTexts(*makeTextSession(*model), one, &one, 1,
                  transom_rerank_options_default(), &score, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
  EXPECT_NE(done.error().message.find("4 labels"), std::string::npos);
  auto plain = fakeModel(textManifest());
  done = rerankTexts(*makeTextSession(*plain), one, &one, 1,
                     transom_rerank_options_default(), &score, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
}

TEST(Rerank, prompts_are_the_model_s) {
  auto model = fakeModel(textManifest(), tables());
  const transom_text one = text("a");
  transom_rerank_options options = transom_rerank_options_default();
  options.prompt_name = "query";
  float score;
  size_t cut;
  Result<void> done =
      rerankTexts(*makeTextSession(*model), one, &one, 1, options, &score, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
  EXPECT_EQ(done.error().message, "the model has no prompt 'query'");
}

TEST(Rerank, scores_of_pairs_are_refused_by_the_files) {
  Manifest manifest = textManifest();
  manifest.text->pairs.emplace();
  manifest.text->pairs->refusal = "no such module";
  auto model = fakeModel(manifest, tables());
  const transom_text one = text("a");
  float score;
  size_t cut;
  Result<void> done =
      rerankTexts(*makeTextSession(*model), one, &one, 1,
                  transom_rerank_options_default(), &score, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
  EXPECT_EQ(done.error().message, "no such module");
}
