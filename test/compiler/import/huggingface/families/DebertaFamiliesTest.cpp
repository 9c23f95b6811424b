// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights that the DeBERTa entries read; values come from goldens.
#include "test/compiler/import/huggingface/FromConfig.h"
#include <set>

using namespace transom;
using namespace transom::testing;

namespace {

/// Returns the file tensors for a model's weights.
std::set<std::string> getTensors(const std::string &text) {
  FromConfig model(text);
  EXPECT_TRUE(model.module) << model.error.message;
  std::set<std::string> tensors;
  if (model.module)
    model.module->walk([&](attn::WeightOp op) {
      for (const std::string &file : op.getExpr().getExpr().files())
        tensors.insert(file);
    });
  return tensors;
}

std::string getConfig(const std::string &family, const std::string &keys) {
  return config(family, "\"relative_attention\": true, "
                        "\"pos_att_type\": [\"c2p\", \"p2c\"], " +
                            keys);
}

TEST(DebertaFamilies, positions_have_projections_or_share_them) {
  const std::string self = "encoder.layer.1.attention.self.";
  std::set<std::string> first =
      getTensors(getConfig("deberta", "\"legacy\": true"));
  EXPECT_TRUE(first.count(self + "in_proj.weight"));
  EXPECT_TRUE(first.count(self + "q_bias"));
  EXPECT_TRUE(first.count(self + "v_bias"));
  EXPECT_FALSE(first.count(self + "in_proj.bias"));
  EXPECT_TRUE(first.count(self + "pos_proj.weight"));
  EXPECT_FALSE(first.count(self + "pos_proj.bias"));
  EXPECT_TRUE(first.count(self + "pos_q_proj.bias"));
  std::set<std::string> own =
      getTensors(getConfig("deberta-v2", "\"share_att_key\": false"));
  EXPECT_TRUE(own.count(self + "pos_key_proj.bias"));
  EXPECT_TRUE(own.count(self + "pos_query_proj.weight"));
  EXPECT_FALSE(own.count("encoder.LayerNorm.weight"));
  std::set<std::string> shared = getTensors(getConfig(
      "deberta-v2",
      "\"share_att_key\": true, \"norm_rel_ebd\": \"none|layer_norm\""));
  EXPECT_FALSE(shared.count(self + "pos_key_proj.weight"));
  EXPECT_TRUE(shared.count("encoder.LayerNorm.weight"));
  EXPECT_TRUE(shared.count("encoder.rel_embeddings.weight"));
}

TEST(DebertaFamilies, heads_for_masked_tokens) {
  for (const auto &[family, name] : {std::pair("deberta", "Deberta"),
                                     std::pair("deberta-v2", "DebertaV2")}) {
    const std::string head = std::string("\"architectures\": [\"") + name +
                             "ForMaskedLM\"], \"tie_word_embeddings\": ";
    EXPECT_TRUE(getTensors(config(family, head + "false"))
                    .count("cls.predictions.decoder.weight"));
    std::set<std::string> own =
        getTensors(config(family, head + "false, \"legacy\": false"));
    EXPECT_TRUE(own.count("lm_predictions.lm_head.dense.weight"));
    EXPECT_TRUE(own.count("lm_predictions.lm_head.bias"));
    EXPECT_FALSE(own.count("lm_predictions.lm_head.weight"));
  }
}

} // namespace
