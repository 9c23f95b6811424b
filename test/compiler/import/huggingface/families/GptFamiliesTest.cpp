// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for GPT-2 and related families, by config.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(GptFamilies, scales_of_scores) {
  FromConfig plain(config("gpt2", "\"scale_attn_weights\": false"));
  ASSERT_TRUE(plain.module) << plain.error.message;
  EXPECT_EQ(plain.attentions()[2].getScale().convertToDouble(), 1);
  FromConfig byLayer(
      config("gpt2", "\"scale_attn_by_inverse_layer_idx\": true"));
  EXPECT_EQ(byLayer.attentions()[2].getScale().convertToDouble(), 0.5 / 3);
}

TEST(GptFamilies, keys_that_win) {
  FromConfig narrow(config("bloom", "\"n_embed\": 6"));
  ASSERT_TRUE(narrow.module) << narrow.error.message;
  EXPECT_NE(narrow.text().find("!attn.cache<heads 2, key 3, value 3>"),
            std::string::npos);
}

/// Counts Falcon's key heads, norms and rope operations.
std::vector<uint64_t> countParts(const std::string &more) {
  FromConfig result(config("falcon", more));
  EXPECT_TRUE(result.module) << result.error.message;
  if (!result.module)
    return {};
  return {uint64_t(result.attentions()[0].getKvHeads()),
          getCount(result.text(), "attn.layer_norm "),
          getCount(result.text(), "attn.rope ")};
}

// Three layers and the final norm.
TEST(GptFamilies, layouts_of_falcon) {
  using Counts = std::vector<uint64_t>;
  EXPECT_EQ(countParts("\"num_kv_heads\": 2"), (Counts{1, 4, 6}));
  EXPECT_EQ(countParts("\"parallel_attn\": false"), (Counts{1, 7, 6}));
  EXPECT_EQ(countParts("\"multi_query\": false"), (Counts{2, 4, 6}));
  EXPECT_EQ(countParts("\"alibi\": true"), (Counts{1, 4, 0}));
  const std::string grouped = "\"new_decoder_architecture\": true";
  EXPECT_EQ(countParts(grouped), (Counts{2, 7, 6}));
  EXPECT_EQ(countParts(grouped + R"(, "num_kv_heads": 1, "alibi": true,
                                     "num_ln_in_parallel_attn": 1)"),
            (Counts{1, 4, 0}));
  expectConfigError(config("falcon", "\"num_ln_in_parallel_attn\": 2"),
                    Status::Unsupported, {"'/num_ln_in_parallel_attn'"});
  expectConfigError(config("falcon", grouped + ", \"parallel_attn\": false"),
                    Status::Unsupported, {"'/parallel_attn'"});
  expectConfigError(config("falcon", grouped + R"(,
                                     "num_ln_in_parallel_attn": 3)"),
                    Status::Rejected, {"'/num_ln_in_parallel_attn'"});
}

TEST(GptFamilies, alibi_before_scores_are_scaled) {
  // Heads of width 4: half the slopes that other families have for these heads.
  FromConfig scaled(config("falcon", "\"alibi\": true")),
      plain(config("bloom"));
  ASSERT_TRUE(scaled.module && plain.module);
  EXPECT_EQ(getCount(plain.text(), "[0.0625, 0.00390625]"), 1u);
  EXPECT_EQ(getCount(scaled.text(), "[0.03125, 0.001953125]"), 1u);
}

TEST(GptFamilies, a_bias_of_the_vocabulary) {
  FromConfig result(config("phi", R"("architectures": ["PhiForCausalLM"])"));
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "@lm_head.bias : "), 2u);
}

TEST(GptFamilies, a_bound_of_positions) {
  EXPECT_EQ(FromConfig(config("gpt2")).context(), 64);
  EXPECT_EQ(FromConfig(config("opt")).context(), 64);
  EXPECT_EQ(FromConfig(config("bloom")).context(), std::nullopt);
}

} // namespace
