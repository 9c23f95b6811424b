// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requirements for attention and pooling.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(GraphAttentionErrors, operand_of_another_type) {
  expectGraphError(
      graph(R"({"name": "a", "op": "attention", "attrs": {"heads": 2},
                "inputs": ["x", "x", "x", "ids"]})",
            "\"a\""),
      Status::Unsupported,
      {"/nodes/0/inputs/3", "op 'attention' of i64 values is not supported",
       "supported: f32, bool; the op 'cast' converts"});
}

/// A graph with one attention with these attributes.
std::string attend(const std::string &attributes) {
  return graph(
      R"({"name": "a", "op": "attention", "inputs": ["x", "x", "x"], "attrs": {"heads": 4, )" +
          attributes + "}}",
      "\"a\"");
}

TEST(GraphAttention, key_value_heads_divide_heads) {
  expectGraphError(attend("\"kv_heads\": 3"), Status::Rejected,
                   {"'kv_heads' 3 must divide 'heads' 4"});
}
TEST(GraphAttention, attributes_that_go_together) {
  expectGraphError(attend("\"symmetric\": true"), Status::Rejected,
                   {"'symmetric' goes with 'alibi'"});
  expectGraphError(attend("\"max_distance\": 9"), Status::Rejected,
                   {"'max_distance' goes with 'relative_bias'"});
  expectGraphError(attend("\"soft_cap\": -1"), Status::Rejected,
                   {"'soft_cap' is negative"});
}
TEST(GraphAttention, a_pool_has_a_bool_mask) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "pool", "inputs": ["x", "x"], "attrs": {"kind": "mean"}})",
          "\"a\""),
      Status::Rejected, {"op 'pool' expects f32 rows and a bool mask"});
}

} // namespace
