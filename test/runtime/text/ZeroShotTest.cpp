// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hypothesis probabilities.
#include "runtime/text/ZeroShot.h"
#include "test/runtime/text/TextModel.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

/// A classifier whose logits rise by 1.75 from label to label.
static Manifest classifier(std::vector<std::string> labels) {
  Manifest manifest = textManifest();
  manifest.labels = std::move(labels);
  manifest.entries[0].outputs[1].name = "logits";
  return manifest;
}

static std::vector<float> score(const Manifest &manifest,
                                const std::vector<transom_text> &hypotheses,
                                bool independent) {
  auto model = fakeModel(manifest, tables());
  std::vector<float> scores(hypotheses.size());
  bool cut = true;
  Result<void> done =
      scoreHypotheses(*makeTextSession(*model), text("a"), hypotheses.data(),
                      hypotheses.size(), independent, scores.data(), cut);
  EXPECT_TRUE(bool(done)) << done.error().message;
  EXPECT_FALSE(cut);
  return scores;
}

TEST(ZeroShot, entailment_against_contradiction) {
  const float last = float(1 / (1 + std::exp(-1.75 * 3)));
  const std::vector<transom_text> two = {text("a"), text("b c")};
  for (float value :
       score(classifier({"contradiction", "n", "m", "ENTAILMENT"}), two, true))
    EXPECT_FLOAT_EQ(value, last);
  // If entailment is the first label, the last one is its opposite.
  for (float value :
       score(classifier({"entails", "n", "m", "contradiction"}), two, true))
    EXPECT_NEAR(value, 1 - last, 1e-6);
  // One hypothesis is judged alone.
  EXPECT_FLOAT_EQ(score(classifier({"contradiction", "n", "m", "entailment"}),
                        {text("b")}, false)[0],
                  last);
}

TEST(ZeroShot, hypotheses_against_each_other) {
  const std::vector<float> scores =
      score(classifier({"contradiction", "n", "m", "entailment"}),
            {text("a"), text("b"), text("a")}, false);
  EXPECT_FLOAT_EQ(scores[0] + scores[1] + scores[2], 1);
  EXPECT_EQ(scores[0], scores[2]);
  EXPECT_GT(scores[1], scores[0]); // its ids are larger, and so its logits
}

TEST(ZeroShot, models_without_entailment) {
  auto model = fakeModel(classifier({"w", "x", "y", "z"}), tables());
  const transom_text one = text("a");
  float value;
  bool cut;
  Result<void> done = scoreHypotheses(*makeTextSession(*model), one, &one, 1,
                                      false, &value, cut);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Unsupported);
}
