// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for RoBERTa and related families, by config.
#include "dialects/common/Location.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// Returns the LayerNorm modules, in order.
std::vector<std::string> getNorms(const std::string &type) {
  FromConfig model(config(type, "", R"("vocab_size": 11, "hidden_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2,
      "intermediate_size": 12, "max_position_embeddings": 64)"));
  std::vector<std::string> norms;
  if (model.module)
    model.module->walk([&](attn::LayerNormOp op) {
      norms.push_back(getModulePath(op->getLoc()));
    });
  return norms;
}

TEST(RobertaFamilies, norms) {
  std::vector<std::string> after = {
      "embeddings.LayerNorm", "encoder.layer.0.attention.output.LayerNorm",
      "encoder.layer.0.output.LayerNorm"};
  for (const char *type : {"camembert", "roberta", "xlm-roberta"})
    EXPECT_EQ(getNorms(type), after) << type;
  EXPECT_EQ(getNorms("xlm-roberta-xl"),
            (std::vector<std::string>{
                "encoder.layer.0.attention.self_attn_layer_norm",
                "encoder.layer.0.LayerNorm", "encoder.LayerNorm"}));
}

TEST(RobertaFamilies, positions_begin_after_the_padding_id) {
  for (const char *type : {"camembert", "roberta", "xlm-roberta-xl"}) {
    FromConfig model(config(type, "\"pad_token_id\": 4"));
    ASSERT_TRUE(model.module) << model.error.message;
    std::vector<uint64_t> offsets;
    model.module->walk([&](attn::PositionOp op) {
      EXPECT_EQ(op.getKind(), attn::PositionKind::NonpadRank);
      offsets.push_back(op.getPad());
    });
    EXPECT_EQ(offsets, std::vector<uint64_t>{4}) << type;
  }
}

} // namespace
