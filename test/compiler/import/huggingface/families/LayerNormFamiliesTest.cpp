// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for decoders with LayerNorm, by config.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

unsigned countNorms(const std::string &text) {
  FromConfig result(text);
  EXPECT_TRUE(result.module) << result.error.message;
  return result.module ? getCount(result.text(), "attn.layer_norm ") : 0;
}

// Three layers and the final norm.
TEST(LayerNormFamilies, one_norm_of_a_parallel_layer) {
  EXPECT_EQ(countNorms(config("cohere")), 4u);
  const std::string heads = "\"num_key_value_heads\": 2, ";
  EXPECT_EQ(countNorms(config("stablelm", heads + "\"x\": 0")), 7u);
  EXPECT_EQ(
      countNorms(config("stablelm", heads + "\"use_parallel_residual\": true")),
      4u);
}

TEST(LayerNormFamilies, norms_with_weights_for_each_head) {
  FromConfig stacked(config("cohere", "\"use_qk_norm\": true"));
  ASSERT_TRUE(stacked.module) << stacked.error.message;
  EXPECT_EQ(getCount(stacked.text(), "attn.layer_norm "), 10u);
  EXPECT_GE(getCount(stacked.text(), "self_attn.q_norm.weight"), 3u);
  FromConfig modules(
      config("stablelm", "\"num_key_value_heads\": 2, \"qk_layernorm\": true"));
  ASSERT_TRUE(modules.module) << modules.error.message;
  EXPECT_GE(getCount(modules.text(), "q_layernorm.norms.1.weight"), 3u);
}

TEST(LayerNormFamilies, pairs_of_neighbours) {
  FromConfig result(config("cohere"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "{interleaved}"), 6u);
}

TEST(LayerNormFamilies, a_plain_mlp_with_or_without_biases) {
  FromConfig result(config("starcoder2", "\"num_key_value_heads\": 1"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_GE(getCount(result.text(), "mlp.c_fc.bias"), 3u);
  FromConfig without(
      config("starcoder2", "\"num_key_value_heads\": 1, \"use_bias\": false"));
  EXPECT_EQ(getCount(without.text(), "mlp.c_fc.bias"), 0u);
}

} // namespace
