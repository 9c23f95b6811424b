// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for encoders with rope, by config.
#include "dialects/common/Location.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

constexpr const char *families[] = {"eurobert", "gte", "jina_embeddings_v3",
                                    "nomic_bert"};

TEST(RopeEncoderFamilies, tokens_see_each_other) {
  for (const char *family : families) {
    FromConfig model(config(family));
    ASSERT_TRUE(model.module) << model.error.message;
    ASSERT_EQ(model.attentions().size(), 3u) << family;
    EXPECT_FALSE(model.attentions()[0].getCausal()) << family;
    EXPECT_TRUE(model.module->lookupSymbol("encode")) << family;
  }
}

TEST(RopeEncoderFamilies, bases_of_rope) {
  // Two pairs in a head of width 4: 1 and base^(-1/2).
  const double bases[] = {10000, 160000, 20000, 1000};
  for (size_t i = 0; i < 4; ++i) {
    FromConfig model(config(families[i]));
    EXPECT_EQ(model.ropeTable()->getFrequencies()[1], std::pow(bases[i], -0.5))
        << families[i];
    FromConfig given(config(families[i], R"("rope_parameters":
        {"rope_theta": 400, "rope_type": "default"})"));
    EXPECT_EQ(given.ropeTable()->getFrequencies()[1], std::pow(400, -0.5));
  }
}

TEST(RopeEncoderFamilies, ignore_the_type_of_positions) {
  for (const char *family : {"gte", "jina_embeddings_v3", "nomic_bert"}) {
    for (const char *type : {"absolute", "rope", "rotary"})
      EXPECT_TRUE(FromConfig(config(family, "\"position_embedding_type\": \"" +
                                                std::string(type) + "\""))
                      .module)
          << family;
    expectConfigError(config(family, "\"position_embedding_type\": \"alibi\""),
                      Status::Unsupported, {"'alibi'", "absolute, rope"});
  }
}

TEST(RopeEncoderFamilies, sizes_of_heads) {
  for (const char *family : families) {
    FromConfig model(config(family, "\"head_dim\": 6"));
    ASSERT_TRUE(model.module) << model.error.message;
    auto query = mlir::cast<mlir::RankedTensorType>(
        model.attentions()[0].getQuery().getType());
    EXPECT_EQ(query.getShape().back(), 12) << family;
  }
}

TEST(RopeEncoderFamilies, token_types_are_optional) {
  auto countArguments = [](const std::string &text) {
    FromConfig model(text);
    return model.module->lookupSymbol<mlir::func::FuncOp>("encode")
        .getNumArguments();
  };
  EXPECT_EQ(countArguments(config("gte", "\"type_vocab_size\": 0")), 2u);
  EXPECT_EQ(countArguments(config("gte", "\"type_vocab_size\": 2")), 3u);
  expectConfigError(config("nomic_bert", "\"type_vocab_size\": 0"),
                    Status::Rejected, {"'/type_vocab_size'"});
}

TEST(RopeEncoderFamilies, which_states_a_classifier_reads) {
  // The last three operations among the pools and the classifier's modules.
  auto getPools = [](const std::string &pooling) {
    FromConfig model(
        config("eurobert",
               "\"architectures\": [\"EuroBertForSequenceClassification\"]" +
                   pooling));
    std::vector<std::string> order;
    model.module->walk([&](mlir::Operation *op) {
      if (auto pool = mlir::dyn_cast<attn::PoolOp>(op))
        order.push_back(pool.getKind() == attn::PoolKind::Mean ? "mean"
                                                               : "first");
      if (mlir::isa<attn::LinearOp>(op))
        order.push_back(getModulePath(op->getLoc()));
    });
    return std::vector<std::string>(order.end() - 3, order.end());
  };
  using Order = std::vector<std::string>;
  EXPECT_EQ(getPools(""), (Order{"dense", "classifier", "mean"}));
  EXPECT_EQ(getPools(", \"clf_pooling\": \"late\""),
            (Order{"dense", "classifier", "mean"}));
  EXPECT_EQ(getPools(", \"classifier_pooling\": \"bos\""),
            (Order{"first", "dense", "classifier"}));
  EXPECT_EQ(getPools(", \"classifier_pooling\": \"mean\""),
            (Order{"mean", "dense", "classifier"}));
  expectConfigError(config("eurobert", "\"classifier_pooling\": \"cls\""),
                    Status::Unsupported,
                    {"'/classifier_pooling'", "'cls'", "late, bos, mean"});
}

//===--- The code beside the checkpoints ---------------------------------===//

const char *const gptSizes =
    R"("vocab_size": 11, "n_embd": 8, "n_layer": 1, "n_head": 2,
       "n_positions": 64)";

std::string nomic(const std::string &more) {
  return config("nomic_bert", more, gptSizes);
}

int64_t getMaxLength(const FromConfig &model) {
  auto info = (*model.module)->getAttrOfType<mlir::DictionaryAttr>("attn.info");
  return mlir::cast<mlir::IntegerAttr>(info.get("max_length")).getInt();
}

TEST(RopeEncoderFamilies, choices_of_nomic_bert) {
  // Without a rope share positions are learned.
  FromConfig learned(nomic(""));
  ASSERT_TRUE(learned.module) << learned.error.message;
  EXPECT_FALSE(learned.ropeTable());
  EXPECT_EQ(learned.info.notes, std::vector<std::string>{});
  const std::string rope = "\"rotary_emb_fraction\": 1.0, ";
  FromConfig turned(nomic(rope + "\"rotary_emb_base\": 100"));
  EXPECT_EQ(turned.ropeTable()->getFrequencies()[1], 0.1);
  EXPECT_EQ(getMaxLength(turned), 64);
  // Scaling starts after the training positions.
  FromConfig scaled(nomic(
      rope + "\"rotary_scaling_factor\": 2, \"max_trained_positions\": 32"));
  EXPECT_EQ(getMaxLength(scaled), 32);
  EXPECT_EQ(scaled.info.notes, std::vector<std::string>{});
}

TEST(RopeEncoderFamilies, intermediate_sizes_of_nomic_bert) {
  // 8 / 3 times the hidden size in a GLU, or 4 times.
  auto getWidth = [](const std::string &text) {
    FromConfig model(text);
    int64_t width = 0;
    model.module->walk([&](attn::LinearOp op) {
      if (getModulePath(op->getLoc()) == "encoder.layers.0.mlp.fc2")
        width = mlir::cast<mlir::RankedTensorType>(op.getInput().getType())
                    .getShape()
                    .back();
    });
    return width;
  };
  EXPECT_EQ(getWidth(nomic("\"activation_function\": \"geglu\"")), 21);
  EXPECT_EQ(getWidth(nomic("\"activation_function\": \"gelu\"")), 32);
  EXPECT_EQ(getWidth(nomic("\"n_inner\": 20")), 20);
}

TEST(RopeEncoderFamilies, what_no_block_builds) {
  for (const char *key :
       {"\"prenorm\": true", "\"parallel_block\": true", "\"causal\": true",
        "\"use_rms_norm\": true", "\"norm_mlp\": true", "\"num_heads_kv\": 1",
        "\"rotary_emb_scale_base\": 512", "\"rotary_head_dim\": true",
        "\"moe_every_n_layers\": 2", "\"last_layer_subset\": true",
        "\"activation_function\": \"relu\""}) {
    const std::string text = key;
    const std::string name = text.substr(1, text.find(':') - 2);
    expectConfigError(nomic(text), Status::Unsupported, {"'" + name + "'"});
  }
  expectConfigError(nomic("\"rotary_emb_fraction\": 0.3"), Status::Unsupported,
                    {"'/rotary_emb_fraction'", "1.2", "a whole count"});
  expectConfigError(config("new", "\"logn_attention_scale\": true"),
                    Status::Unsupported, {"'logn_attention_scale'"});
  expectConfigError(config("new", "\"layer_norm_type\": \"l2\""),
                    Status::Unsupported, {"'layer_norm_type'", "layer_norm"});
  expectConfigError(config("new", R"("rope_scaling": {"type": "linear",
                                       "factor": 2.0})"),
                    Status::Unsupported, {"'linear'", "default, ntk"});
  expectConfigError(config("new", "\"position_embedding_type\": \"alibi\""),
                    Status::Unsupported, {"'alibi'", "rope"});
  expectConfigError(
      config("xlm-roberta", "\"position_embedding_type\": \"alibi\""),
      Status::Unsupported, {"'alibi'", "absolute"});
}

TEST(RopeEncoderFamilies, norms_of_gte) {
  auto count = [](const std::string &type) {
    FromConfig model(config("new", "\"layer_norm_type\": \"" + type + "\""));
    std::pair<int, int> norms;
    model.module->walk([&](attn::LayerNormOp) { ++norms.first; });
    model.module->walk([&](attn::RmsNormOp) { ++norms.second; });
    return norms;
  };
  EXPECT_EQ(count("layer_norm"), std::pair(7, 0));
  EXPECT_EQ(count("rms_norm"), std::pair(1, 6));
}

} // namespace
