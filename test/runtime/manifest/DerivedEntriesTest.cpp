// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that the runtime derives from a decoder's entry.
#include "runtime/manifest/DerivedEntries.h"
#include "test/runtime/manifest/ManifestFixture.h"

using namespace transom;
using namespace transom::test;

TEST(DerivedEntries, of_each_head) {
  Manifest m = decoderManifest();
  ASSERT_EQ(m.entries.size(), 4u);
  const ManifestEntry *logits = m.findEntry("logits");
  EXPECT_EQ(logits->inputs[0].bound, 500);
  EXPECT_EQ(logits->inputs[1].fallback, 1);
  EXPECT_EQ(logits->outputs[0].shape[2], Polynomial(500));
  EXPECT_EQ(m.findEntry("score")->outputs[0].shape[1], poly("seq-1"));
  EXPECT_EQ(m.findEntry("generate")->outputs[0].shape[0],
            poly("batch*returned"));
  EXPECT_EQ(m.findEntry("generate")->outputs[1].name, "scores");
  EXPECT_EQ(m.findEntry("generate")->outputs[1].shape,
            std::vector<Polynomial>{poly("batch*returned")});
  Manifest classify = decoderManifest("sequence_classification");
  ASSERT_EQ(classify.entries.size(), 2u);
  EXPECT_EQ(classify.entries[1].name, "encode");
  EXPECT_EQ(classify.entries[1].outputs[0].shape.size(), 2u);
  Manifest bare = decoderManifest("none", "last_hidden_state");
  EXPECT_EQ(bare.entries[1].outputs[0].name, "last_hidden_state");
  EXPECT_EQ(bare.entries[1].outputs[0].shape.size(), 3u);
  EXPECT_TRUE(getDerivedEntries(fullManifest()).empty());
}

TEST(DerivedEntries, of_an_encoder_decoder) {
  Manifest m = encoderDecoderManifest();
  ASSERT_EQ(m.entries.size(), 6u);
  auto getNames = [&](const char *entry) {
    std::vector<std::string> names;
    for (const ManifestTensor &input : m.findEntry(entry)->inputs)
      names.push_back(input.name);
    return names;
  };
  EXPECT_EQ(getNames("logits"),
            (std::vector<std::string>{"input_ids", "attention_mask",
                                      "decoder_input_ids",
                                      "decoder_attention_mask"}));
  EXPECT_EQ(getNames("score"), (std::vector<std::string>{
                                   "input_ids", "attention_mask", "labels"}));
  EXPECT_EQ(getNames("generate"),
            (std::vector<std::string>{"input_ids", "attention_mask"}));
  // Source ids are the encoder's, target ids the decoder's.
  const ManifestEntry *logits = m.findEntry("logits");
  EXPECT_EQ(logits->inputs[0].bound, 30522);
  EXPECT_EQ(logits->inputs[2].bound, 500);
  EXPECT_EQ(logits->outputs[0].shape[1], poly("target"));
  EXPECT_EQ(logits->derivedFrom, "step");
  EXPECT_TRUE(isDerived(m, *logits));
  ManifestEntry other = *logits;
  other.outputs.clear();
  EXPECT_FALSE(isDerived(m, other));
  EXPECT_EQ(m.findEntry("score")->outputs[0].shape[1], poly("target"));
  EXPECT_EQ(m.findEntry("encode")->derivedFrom, "");
}

TEST(DerivedEntries, of_an_encoder_decoder_that_classifies) {
  Manifest m = encoderDecoderManifest();
  m.decoder->classRow = "last_end";
  const std::vector<ManifestEntry> entries = getDerivedEntries(m);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "encode");
  EXPECT_EQ(entries[0].inputs[0].bound, 30522);
}
