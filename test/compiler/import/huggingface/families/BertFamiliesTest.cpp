// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table entries for BERT and related families, by config.
#include "dialects/common/Location.h"
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

using Windows = std::vector<int64_t>;

TEST(BertFamilies, windows_to_both_sides) {
  // |i - j| <= w / 2, which is a window with size w / 2 + 1 in attn.sdpa.
  EXPECT_EQ(
      FromConfig(config("modernbert", "\"local_attention\": 8")).windows(),
      (Windows{0, 5, 5}));
  EXPECT_EQ(
      FromConfig(config("modernbert", "\"local_attention\": 7, "
                                      "\"global_attn_every_n_layers\": 2"))
          .windows(),
      (Windows{0, 4, 0}));
  EXPECT_EQ(FromConfig(config("modernbert", R"("local_attention": 2,
      "layer_types": ["sliding_attention", "full_attention", "full_attention"])"))
                .windows(),
            (Windows{2, 0, 0}));
  // The default, 128, becomes 65, beyond the context.
  EXPECT_EQ(FromConfig(config("modernbert")).windows(), (Windows{0, 0, 0}));
}

/// Returns the modules for the operations of a kind, in order.
template <typename Op> std::vector<std::string> getModules(FromConfig &model) {
  std::vector<std::string> modules;
  model.module->walk(
      [&](Op op) { modules.push_back(getModulePath(op->getLoc())); });
  return modules;
}

TEST(BertFamilies, layers_of_groups) {
  // Group int(i / (5 / 2)) for pass i, each with two layers.
  FromConfig model(
      config("albert", R"("num_hidden_groups": 2, "inner_group_num": 2,
      "embedding_size": 4)",
             R"("vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 5,
         "num_attention_heads": 2, "intermediate_size": 12)"));
  ASSERT_TRUE(model.module) << model.error.message;
  std::vector<std::string> expected;
  for (const char *group : {"0", "0", "0", "1", "1"})
    for (const char *inner : {"0", "1"})
      expected.push_back("encoder.albert_layer_groups." + std::string(group) +
                         ".albert_layers." + inner + ".attention");
  EXPECT_EQ(getModules<attn::SoftmaxOp>(model), expected);
  expectConfigError(config("albert", "\"inner_group_num\": 1500"),
                    Status::Rejected, {"'/inner_group_num'", "4096 layers"});
  // No embedding width equals the hidden width.
  FromConfig equal(config("albert", "\"embedding_size\": 8"));
  ASSERT_TRUE(equal.module) << equal.error.message;
  EXPECT_EQ(getModules<attn::LinearOp>(equal).front(),
            "encoder.embedding_hidden_mapping_in");
}

} // namespace
