// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for Llama and related families, by config.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

using Windows = std::vector<int64_t>;

TEST(LlamaFamilies, a_window_for_all_layers) {
  EXPECT_EQ(FromConfig(config("mistral", "\"sliding_window\": 5, "
                                         "\"num_key_value_heads\": 1"))
                .windows(),
            (Windows{5, 5, 5}));
  EXPECT_EQ(FromConfig(config("mistral", "\"sliding_window\": null, "
                                         "\"num_key_value_heads\": null"))
                .windows(),
            (Windows{0, 0, 0}));
  // The default, 4096, is beyond the context.
  EXPECT_EQ(
      FromConfig(config("mistral", "\"num_key_value_heads\": 2")).windows(),
      (Windows{0, 0, 0}));
}

TEST(LlamaFamilies, windows_from_a_layer_on) {
  const std::string on = "\"num_key_value_heads\": 2, \"sliding_window\": 7, "
                         "\"max_window_layers\": 1";
  EXPECT_EQ(FromConfig(config("qwen2", on)).windows(), (Windows{0, 0, 0}));
  EXPECT_EQ(FromConfig(config("qwen2", on + ", \"use_sliding_window\": true"))
                .windows(),
            (Windows{0, 7, 7}));
  EXPECT_EQ(FromConfig(config("qwen2", on + R"(, "use_sliding_window": true,
      "layer_types": ["sliding_attention", "full_attention", "full_attention"])"))
                .windows(),
            (Windows{7, 0, 0}));
}

TEST(LlamaFamilies, windows_in_turn) {
  const std::string heads = "\"num_key_value_heads\": 1, \"head_dim\": 4, ";
  EXPECT_EQ(
      FromConfig(config("gemma2", heads + "\"sliding_window\": 6")).windows(),
      (Windows{6, 0, 6}));
}

TEST(LlamaFamilies, soft_caps_are_off_when_null) {
  const std::string heads = "\"num_key_value_heads\": 1, ";
  FromConfig on(config("gemma2", heads + "\"final_logit_softcapping\": 7"));
  ASSERT_TRUE(on.module) << on.error.message;
  EXPECT_EQ(on.attentions()[0].getSoftCap().convertToDouble(), 50);
  EXPECT_EQ(getCount(on.text(), "activation <tanh>"), 1u);
  FromConfig off(config("gemma2", heads + R"("final_logit_softcapping": null,
                                   "attn_logit_softcapping": null)"));
  ASSERT_TRUE(off.module) << off.error.message;
  EXPECT_EQ(off.attentions()[0].getSoftCap().convertToDouble(), 0);
  EXPECT_EQ(getCount(off.text(), "activation <tanh>"), 0u);
}

TEST(LlamaFamilies, scales_of_scores) {
  FromConfig scalar(config("gemma2", "\"query_pre_attn_scalar\": 100, "
                                     "\"num_key_value_heads\": 1"));
  ASSERT_TRUE(scalar.module) << scalar.error.message;
  EXPECT_EQ(scalar.attentions()[0].getScale().convertToDouble(), 0.1);
}

TEST(LlamaFamilies, keys_that_win) {
  FromConfig gelu(config("gemma2", R"("num_key_value_heads": 1,
                                      "hidden_act": "relu")"));
  ASSERT_TRUE(gelu.module) << gelu.error.message;
  EXPECT_EQ(getCount(gelu.text(), "activation <relu>"), 0u);
  EXPECT_EQ(gelu.info.notes, std::vector<std::string>{});
}

} // namespace
