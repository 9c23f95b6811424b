// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Relative positions with content and the convolution, by config keys.
#include "test/compiler/import/huggingface/FromConfig.h"
#include <cmath>

using namespace transom;
using namespace transom::testing;

namespace {

const std::string relative = "\"relative_attention\": true, ";

/// Returns the first attention for a config.
attn::SdpaOp getAttention(FromConfig &result) {
  EXPECT_TRUE(result.module) << result.error.message;
  return result.module ? result.attentions().at(0) : attn::SdpaOp();
}

TEST(RelativePositions, products_and_their_scale) {
  struct Case {
    const char *keys;
    bool toPosition, fromPosition;
  };
  for (const Case &c : {Case{R"("pos_att_type": ["c2p", "p2c"])", true, true},
                        Case{R"("pos_att_type": " P2C|c2p ")", true, true},
                        Case{R"("pos_att_type": ["c2p"])", true, false},
                        Case{R"("pos_att_type": "p2c")", false, true}})
    for (const char *family : {"deberta", "deberta-v2"}) {
      FromConfig result(config(family, relative + c.keys));
      attn::SdpaOp op = getAttention(result);
      ASSERT_TRUE(op);
      EXPECT_EQ(bool(op.getPositionKeys()), c.toPosition) << c.keys;
      EXPECT_EQ(bool(op.getPositionQueries()), c.fromPosition) << c.keys;
      EXPECT_DOUBLE_EQ(op.getScale().convertToDouble(),
                       1 / std::sqrt(4.0 * (1 + c.toPosition + c.fromPosition)))
          << c.keys;
    }
}

TEST(RelativePositions, without_them_scores_are_primitive) {
  for (const char *keys :
       {"\"relative_attention\": false, \"pos_att_type\": [\"c2p\"]",
        "\"relative_attention\": true"}) {
    FromConfig result(config("deberta-v2", keys));
    ASSERT_TRUE(result.module) << result.error.message;
    EXPECT_TRUE(result.attentions().empty()) << keys;
  }
}

TEST(RelativePositions, buckets_and_distances) {
  struct Case {
    const char *keys;
    int64_t positions, maxDistance;
  };
  for (const Case &c :
       {Case{"", 128, 0}, Case{"\"max_relative_positions\": 5", 10, 0},
        Case{"\"position_buckets\": 6", 12, 64},
        Case{"\"position_buckets\": -1, \"max_relative_positions\": 0", 128, 0},
        Case{"\"position_buckets\": 7, \"max_relative_positions\": 9", 14,
             9}}) {
    std::string keys = relative + "\"pos_att_type\": [\"c2p\"]";
    if (*c.keys)
      keys += std::string(", ") + c.keys;
    FromConfig result(config("deberta-v2", keys));
    attn::SdpaOp op = getAttention(result);
    ASSERT_TRUE(op);
    EXPECT_EQ(op.getPositionBuckets()->positions, c.positions) << c.keys;
    EXPECT_EQ(int64_t(op.getMaxDistance()), c.maxDistance) << c.keys;
  }
}

TEST(RelativePositions, refuses_what_is_not_defined) {
  const std::string on = relative + "\"pos_att_type\": [\"c2p\"], ";
  auto expect = [&](const std::string &keys,
                    const std::vector<std::string> &parts,
                    Status status = Status::Unsupported) {
    expectConfigError(config("deberta-v2", keys), status, parts);
  };
  expect(relative + R"("pos_att_type": ["c2p", "p2p"])",
         {"'/pos_att_type'", "'p2p'", "c2p and p2c"});
  expect(relative + R"("pos_att_type": "c2p|c2p")",
         {"'/pos_att_type'", "twice"});
  expect(relative + R"("pos_att_type": [3])", {"'/pos_att_type/0'"},
         Status::Rejected);
  expect(on + "\"position_buckets\": 1",
         {"'/position_buckets'", "too few; the least are 2"});
  expect(on + "\"position_buckets\": 8, \"max_relative_positions\": 5",
         {"'/max_relative_positions'", "5 is not from 6 to 65536",
          "'position_buckets' 8"});
  expect("\"conv_kernel_size\": 4", {"'/conv_kernel_size'", "4 is even"});
  expect("\"conv_kernel_size\": 3, \"conv_groups\": 3",
         {"'/conv_groups'", "does not divide"}, Status::Rejected);
  expect("\"pooler_hidden_size\": 9", {"'/pooler_hidden_size'", "8"});
  expectConfigError(config("deberta", "\"talking_head\": true"),
                    Status::Unsupported, {"'talking_head'"});
}

TEST(RelativePositions, convolutions_are_products_of_neighbors) {
  FromConfig result(config("deberta-v2", "\"conv_kernel_size\": 5"));
  ASSERT_TRUE(result.module) << result.error.message;
  std::vector<int64_t> reaches;
  result.module->walk(
      [&](attn::NeighborsOp op) { reaches.push_back(op.getReach()); });
  EXPECT_EQ(reaches, (std::vector<int64_t>{2}));
}

TEST(RelativePositions, only_absolute_positions_bound_the_length) {
  FromConfig bound(config("deberta-v2", "\"position_biased_input\": true"));
  FromConfig unbound(config("deberta-v2", "\"position_biased_input\": false"));
  ASSERT_TRUE(bound.module) << bound.error.message;
  ASSERT_TRUE(unbound.module) << unbound.error.message;
  auto hasPositions = [](FromConfig &result) {
    bool found = false;
    result.module->walk([&](attn::PositionOp) { found = true; });
    return found;
  };
  EXPECT_TRUE(hasPositions(bound));
  EXPECT_FALSE(hasPositions(unbound));
}

} // namespace
