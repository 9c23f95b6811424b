// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layers with a window and layers with rope: by a list in the config or by a
// family rule.
#include "test/compiler/import/huggingface/FromConfig.h"

using namespace transom;
using namespace transom::testing;

namespace {

using Windows = std::vector<int64_t>;

const std::string heads = "\"num_key_value_heads\": 1, \"head_dim\": 4, ";

/// Rope operations in each layer, for query and key.
std::vector<unsigned> countRopes(FromConfig &result) {
  std::vector<unsigned> counts;
  unsigned ropes = 0;
  result.module->walk([&](mlir::Operation *op) {
    ropes += mlir::isa<attn::RopeOp>(op);
    if (mlir::isa<attn::SdpaOp>(op)) {
      counts.push_back(ropes);
      ropes = 0;
    }
  });
  return counts;
}

TEST(LayerPattern, the_last_of_each_n_layers_has_no_window) {
  const std::string window = heads + "\"sliding_window\": 6, ";
  EXPECT_EQ(FromConfig(
                config("gemma3_text", window + "\"sliding_window_pattern\": 2"))
                .windows(),
            (Windows{6, 0, 6}));
  EXPECT_EQ(FromConfig(config("gemma3_text",
                              window + "\"_sliding_window_pattern\": 3"))
                .windows(),
            (Windows{6, 6, 0}));
  EXPECT_EQ(FromConfig(config("gemma3_text", window + R"("layer_types":
      ["full_attention", "full_attention", "sliding_attention"])"))
                .windows(),
            (Windows{0, 0, 6}));
}

TEST(LayerPattern, layers_without_rope) {
  FromConfig rule(config("smollm3", heads + "\"no_rope_layer_interval\": 2"));
  ASSERT_TRUE(rule.module) << rule.error.message;
  EXPECT_EQ(countRopes(rule), (std::vector<unsigned>{2, 0, 2}));
  FromConfig listed(
      config("smollm3", heads + "\"no_rope_layers\": [0, 1, 1, 0]"));
  ASSERT_TRUE(listed.module) << listed.error.message;
  EXPECT_EQ(countRopes(listed), (std::vector<unsigned>{0, 2, 2}));
  expectConfigError(config("smollm3", heads + "\"no_rope_layers\": [1, 0]"),
                    Status::Rejected,
                    {"'/no_rope_layers'", "names 2 layers", "is 3"});
  expectConfigError(config("smollm3", heads + "\"no_rope_layers\": [1, 2, 1]"),
                    Status::Rejected, {"'/no_rope_layers/1'"});
}

TEST(LayerPattern, windows_of_layers_without_rope) {
  const std::string on = heads + "\"no_rope_layer_interval\": 2, "
                                 "\"sliding_window\": 5, ";
  EXPECT_EQ(FromConfig(config("smollm3", on + "\"use_sliding_window\": true"))
                .windows(),
            (Windows{0, 5, 0}));
  EXPECT_EQ(FromConfig(config("smollm3", on + "\"use_sliding_window\": false"))
                .windows(),
            (Windows{0, 0, 0}));
  expectConfigError(config("smollm3", on + R"("layer_types": ["full_attention",
             "sliding_attention", "full_attention"])"),
                    Status::Rejected,
                    {"'/layer_types'", "'use_sliding_window'"});
}

} // namespace
