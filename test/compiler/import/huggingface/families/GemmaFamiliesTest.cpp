// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for Gemma, by config.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

const std::string heads = "\"num_key_value_heads\": 1, \"head_dim\": 4, ";

TEST(GemmaFamilies, the_activation_of_the_first_gemma) {
  FromConfig old(config("gemma", heads + "\"hidden_act\": \"gelu\""));
  ASSERT_TRUE(old.module) << old.error.message;
  EXPECT_EQ(getCount(old.text(), "activation <gelu_tanh>"), 3u);
  expectConfigError(config("gemma", heads + "\"hidden_act\": \"silu\""),
                    Status::Unsupported,
                    {"'/hidden_act'", "gelu_pytorch_tanh"});
  expectConfigError(
      config("gemma", heads + "\"use_bidirectional_attention\": true"),
      Status::Unsupported, {"'/use_bidirectional_attention'"});
}

TEST(GemmaFamilies, scaling_of_rope_is_for_layers_without_a_window) {
  FromConfig result(config("gemma3_text", heads + R"("rope_theta": 10000,
      "rope_local_base_freq": 100, "sliding_window_pattern": 2,
      "rope_scaling": {"rope_type": "linear", "factor": 2})"));
  ASSERT_TRUE(result.module) << result.error.message;
  std::vector<std::vector<double>> frequencies;
  result.module->walk([&](attn::RopeTableOp op) {
    frequencies.push_back(op.getFrequencies().vec());
  });
  ASSERT_EQ(frequencies.size(), 2u);
  EXPECT_EQ(frequencies[0], (std::vector<double>{0.5, 0.005}));
  EXPECT_EQ(frequencies[1], (std::vector<double>{1, 0.1}));
  expectConfigError(config("gemma3_text", heads + R"("rope_scaling":
      {"rope_type": "linear", "factor": 2}, "rope_parameters": {}, )"
                                                  R"("x": 1)"),
                    Status::Unsupported, {"'/rope_scaling'"});
}

TEST(GemmaFamilies, a_cap_of_scores_that_its_class_does_not_use) {
  expectConfigError(
      config("gemma3_text", heads + "\"attn_logit_softcapping\": 30.0"),
      Status::Unsupported, {"'/attn_logit_softcapping'"});
}

TEST(GemmaFamilies, an_encoder) {
  const std::string both = heads + "\"use_bidirectional_attention\": true, "
                                   "\"sliding_window\": 6, "
                                   "\"sliding_window_pattern\": 2";
  FromConfig result(config("gemma3_text",
                           both + R"(, "architectures": ["Gemma3TextModel"])"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_TRUE(result.module->lookupSymbol("encode"));
  EXPECT_EQ(result.windows(), (std::vector<int64_t>{4, 0, 4}));
  EXPECT_FALSE(result.attentions()[0].getCausal());
  expectConfigError(
      config("gemma3_text",
             both + R"(, "architectures": ["Gemma3ForCausalLM"])"),
      Status::Unsupported, {"'/architectures/0'", "Gemma3TextModel"});
}

} // namespace
