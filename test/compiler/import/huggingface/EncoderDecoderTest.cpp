// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoder entries, and their function attributes.
// test/compiler/evaluator/EncoderDecoderGoldenTest.cpp checks their results.
#include "dialects/attn/Attn.h"
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// A golden folder with all entries.
struct Whole : Imported {
  explicit Whole(const std::string &name)
      : Imported(sourceFolder() + "/test/goldens/encoder-decoders/" + name) {}

  mlir::func::FuncOp entry(llvm::StringRef name) {
    return module->lookupSymbol<mlir::func::FuncOp>(name);
  }
  std::string attribute(llvm::StringRef function, llvm::StringRef name) {
    auto text = entry(function)->getAttrOfType<mlir::StringAttr>(name);
    return text ? text.getValue().str() : "";
  }
  /// Symbol, heads, width and positions for each.
  std::vector<std::string> getReadOnlyCaches() {
    std::vector<std::string> texts;
    for (auto cache : module->getOps<attn::CacheOp>())
      if (auto type = mlir::cast<attn::CacheType>(cache.getType());
          type.getPositions())
        texts.push_back(cache.getSymName().str() + ": " +
                        std::to_string(type.getHeads()) + " x " +
                        std::to_string(type.getKey()) + ", " +
                        std::to_string(type.getPositions()));
    return texts;
  }
  size_t count(llvm::StringRef function, llvm::StringRef operation) {
    size_t found = 0;
    entry(function).walk([&](mlir::Operation *op) {
      found += op->getName().getStringRef() == operation;
    });
    return found;
  }
};

TEST(EncoderDecoder, has_three_entries) {
  // One layer in the encoder, two in the decoder.
  Whole model("bart");
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.info.notes, std::vector<std::string>{});
  EXPECT_EQ(model.info.unusedTensors, std::vector<std::string>{});
  for (const char *name : {"encode", "source", "step"})
    ASSERT_TRUE(model.entry(name)) << name;
  EXPECT_EQ(model.attribute("source", "transom.kind"), "source");
  EXPECT_EQ(model.attribute("source", "transom.encoder"), "encode");
  EXPECT_EQ(model.attribute("encode", "transom.kind"), "");
  EXPECT_EQ(model.attribute("step", "transom.start_rule"), "");
  EXPECT_EQ(model.entry("source").getNumResults(), 0u);
  EXPECT_EQ(model.count("source", "attn.append"), 2u);
  EXPECT_EQ(model.count("step", "attn.cross_sdpa"), 2u);
  EXPECT_EQ(model.count("step", "attn.sdpa"), 2u);
}

TEST(EncoderDecoder, source_and_step_share_caches_as_long_as_a_source) {
  Whole model("bart");
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.getReadOnlyCaches(),
            (std::vector<std::string>{
                "model.decoder.layers.0.encoder_attn: 2 x 8, 40",
                "model.decoder.layers.1.encoder_attn: 2 x 8, 40"}));
  Whole unlimited("t5");
  ASSERT_TRUE(unlimited.module) << unlimited.error.message;
  EXPECT_EQ(unlimited.getReadOnlyCaches(),
            (std::vector<std::string>{
                "decoder.block.0.layer.1.EncDecAttention: 3 x 5, 2147483647"}));
}

TEST(EncoderDecoder, a_target_of_mbart_starts_with_its_last_label) {
  Whole model("mbart");
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.attribute("step", "transom.start_rule"), "last_label");
}

TEST(EncoderDecoder, a_classifier_looks_at_the_last_end_token) {
  Whole model("bart-classify");
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_FALSE(model.entry("encode"));
  ASSERT_TRUE(model.entry("encoder"));
  EXPECT_EQ(model.attribute("encoder", "transom.kind"), "run");
  EXPECT_EQ(model.attribute("source", "transom.encoder"), "encoder");
  EXPECT_EQ(model.attribute("step", "transom.class_row"), "last_end");
  EXPECT_EQ(model.entry("step")
                ->getAttrOfType<mlir::IntegerAttr>("transom.class_token")
                .getInt(),
            2);
}

TEST(EncoderDecoder, a_bare_model_is_its_encoder) {
  for (const char *folder : {"bart-bare", "t5-encoder-model"}) {
    Whole model(folder);
    ASSERT_TRUE(model.module) << model.error.message;
    EXPECT_TRUE(model.entry("encode"));
    EXPECT_FALSE(model.entry("step"));
  }
}

TEST(EncoderDecoder, a_head_of_its_own_is_not_the_embedding) {
  for (const auto &[folder, own] : {std::pair<const char *, bool>{"t5", false},
                                    {"t5-v4", false},
                                    {"t5-gated-v4-untied", true},
                                    {"t5-gated-untied", true},
                                    {"mt5", false},
                                    {"mt5-v4-untied", true}}) {
    Whole model(folder);
    ASSERT_TRUE(model.module) << model.error.message;
    EXPECT_EQ(getCount(model.text(), "file(\"lm_head.weight\")"), own ? 1u : 0u)
        << folder;
  }
}

TEST(EncoderDecoder, only_t5_scales_before_its_head) {
  for (const auto &[folder, scales] : {std::pair<const char *, size_t>{"t5", 1},
                                       {"t5-v4", 1},
                                       {"t5-gated-v4-untied", 0},
                                       {"t5-gated-untied", 0},
                                       {"mt5", 0},
                                       {"mt5-v4-untied", 0}}) {
    Whole model(folder);
    ASSERT_TRUE(model.module) << model.error.message;
    EXPECT_EQ(model.count("step", "attn.scale"), scales) << folder;
  }
}

} // namespace
