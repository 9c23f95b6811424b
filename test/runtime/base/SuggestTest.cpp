// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "did you mean" for near names.
#include "runtime/base/Suggest.h"
#include <gtest/gtest.h>

using namespace transom;

TEST(Suggest, near_names_only) {
  EXPECT_EQ(suggest("hiden_size", {"hidden_size", "vocab_size"}),
            "; did you mean 'hidden_size'?");
  EXPECT_EQ(suggest("swihs", {"relu", "swish"}), "; did you mean 'swish'?");
  EXPECT_EQ(suggest("tanh", {"relu", "swish"}), "");
  EXPECT_EQ(suggest("x", {"y"}), "") << "nothing in common";
  EXPECT_EQ(suggest("", {"a"}), "");
  EXPECT_EQ(suggest(std::string(100000, 'a'), {std::string(99999, 'a')}), "");
  EXPECT_EQ(joinNames({"a", "b"}), "a, b");
}

TEST(Suggest, ignores_case) {
  EXPECT_EQ(suggest("MatMul", {"add", "matmul"}), "; did you mean 'matmul'?");
  EXPECT_EQ(suggest("LayerNorm", {"rms_norm", "layer_norm"}),
            "; did you mean 'layer_norm'?");
  EXPECT_EQ(suggest("hidden_sise", {"Hidden_Size"}),
            "; did you mean 'Hidden_Size'?");
  EXPECT_EQ(suggest("SOFT", {"softmax"}), "; did you mean 'softmax'?");
}

TEST(Suggest, names_without_their_prefix) {
  EXPECT_EQ(suggest("fuse-attention",
                    {"attn-fuse-projections", "attn-fuse-attention"}),
            "; did you mean 'attn-fuse-attention'?");
  EXPECT_EQ(suggest("weight", {"b.bias", "a.b.weight", "a.weight"}),
            "; did you mean 'a.weight'?");
  EXPECT_EQ(suggest("norm", {"batchnorm"}), "") << "no prefix, and far";
  EXPECT_EQ(suggest("in", {"attn-in"}), "") << "too short";
}
