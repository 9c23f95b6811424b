// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What configs of GPT-2 and its relatives make of their entries of the table.
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

TEST(GptFamilies, a_bound_of_positions) {
  EXPECT_EQ(FromConfig(config("gpt2")).context(), 64);
  EXPECT_EQ(FromConfig(config("opt")).context(), 64);
  EXPECT_EQ(FromConfig(config("bloom")).context(), std::nullopt);
}

} // namespace
