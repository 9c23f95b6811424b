// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens and labels for texts.
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

TEST(Text, refuses_unknown_parts_on_demand) {
  auto model = fakeModel(textManifest(), tables());
  transom_tokenize_options options = transom_tokenize_options_default();
  const transom_text known = text("a B"), unknown = text("a zz b");
  ASSERT_TRUE(encodeText(*model, unknown, nullptr, options));
  options.refuse_unknown = 1;
  EXPECT_TRUE(encodeText(*model, known, &known, options));
  for (const transom_text &first : {known, unknown}) {
    Result<Encoding> encoding = encodeText(*model, first, &unknown, options);
    ASSERT_FALSE(encoding);
    EXPECT_EQ(encoding.error().status, Status::Rejected);
    EXPECT_EQ(encoding.error().message, "the tokenizer has no token for 'zz'");
  }
}

TEST(Text, models_without_tokenizer_or_head) {
  auto plain = fakeModel(textManifest());
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  auto session = makeSession(*plain, config);
  transom_text one = text("a");
  float out[4];
  size_t cut;
  Result<void> done =
      embedTexts(*session, &one, 1, transom_embed_options_default(), out, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
  auto encoder = fakeModel(textManifest(), tables());
  session = makeSession(*encoder, config);
  done = classifyTexts(*session, &one, nullptr, 1, out, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
}

TEST(Text, scores_of_texts_and_pairs) {
  Manifest manifest = textManifest();
  manifest.labels = {"w", "x", "y", "z"};
  manifest.entries[0].outputs[1].name = "logits";
  auto model = fakeModel(manifest, tables());
  SessionConfig config = makeConfig(2, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  transom_text texts[] = {text("a"), text("a"), text("a")};
  transom_text pairs[] = {{nullptr, 0}, text("b"), {nullptr, 0}};
  std::vector<float> scores(12);
  size_t cut;
  Result<void> done =
      classifyTexts(*session, texts, pairs, 3, scores.data(), cut);
  ASSERT_TRUE(bool(done)) << done.error().message;
  // Logits rise by 1.75 from label to label, whatever the text.
  double sum = 0;
  for (int i = 0; i != 4; ++i)
    sum += std::exp(1.75 * i);
  for (size_t i = 0; i != 12; ++i)
    EXPECT_NEAR(scores[i], std::exp(1.75 * double(i % 4)) / sum, 1e-5);
}

TEST(Text, scores_are_what_the_labels_are) {
  float logits[] = {0, 2, -2}, scores[3];
  computeLabelScores(logits, 3, LabelScores::Raw, scores);
  EXPECT_TRUE(std::equal(scores, scores + 3, logits));
  computeLabelScores(logits, 3, LabelScores::Sigmoid, scores);
  EXPECT_FLOAT_EQ(scores[0], 0.5f);
  EXPECT_FLOAT_EQ(scores[1], float(1 / (1 + std::exp(-2.0))));
  computeLabelScores(logits, 3, LabelScores::Softmax, scores);
  EXPECT_FLOAT_EQ(scores[0] + scores[1] + scores[2], 1);
  float huge[] = {1000, -1000};
  computeLabelScores(huge, 2, LabelScores::Softmax, scores);
  EXPECT_EQ(scores[0], 1.0f);
  EXPECT_EQ(scores[1], 0.0f);
}

TEST(Text, scores_of_tokens) {
  Manifest manifest = textManifest();
  manifest.labels = {"w", "x", "y", "z"};
  manifest.entries[0].outputs[0].name = "logits";
  auto model = fakeModel(manifest, tables());
  SessionConfig config = makeConfig(1, 64);
  config.holdResults = true;
  auto session = makeSession(*model, config);
  Encoding encoding;
  std::vector<float> scores;
  Result<void> done = classifyTokens(*session, text("a b"), encoding, scores);
  ASSERT_TRUE(bool(done)) << done.error().message;
  EXPECT_EQ(encoding.ids, (std::vector<int64_t>{2, 10, 20, 3}));
  ASSERT_EQ(scores.size(), 16u);
  for (size_t i = 0; i != 16; i += 4)
    EXPECT_NEAR(scores[i] + scores[i + 1] + scores[i + 2] + scores[i + 3], 1,
                1e-6);
}
