// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products and the weights that they name.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphProducts : GraphWithWeights {};

TEST_F(GraphProducts, a_product_with_a_weight_is_linear) {
  write(R"({"name": "w", "op": "weight", "attrs": {"tensor": "w"}},
           {"name": "m", "op": "matmul", "inputs": ["x", "w"]},
           {"name": "n", "op": "matmul", "inputs": ["m", "w"],
            "attrs": {"transpose_b": true}},
           {"name": "l", "op": "linear", "inputs": ["n"],
            "attrs": {"weight": "w", "transposed": true, "bias": "b"}})",
        R"("l")");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string text = result.text();
  EXPECT_EQ(getCount(text, "attn.linear"), 3u);
  EXPECT_EQ(getCount(text, "attn.matmul"), 0u);
  EXPECT_EQ(getCount(text, "transpose(file("), 1u);
}

TEST_F(GraphProducts, refuses_weights_that_do_not_fit) {
  write(
      R"({"name": "l", "op": "linear", "inputs": ["x"], "attrs": {"weight": "w", "bias": "extra"}})",
      R"("l")");
  expectError(folder.path, Status::Rejected,
              {"graph.json:", "'/nodes/0'", "bias", "[8]", "[3]"});
  write(
      R"({"name": "l", "op": "linear", "inputs": ["x"], "attrs": {"weight": "absent"}})",
      R"("l")");
  expectError(folder.path, Status::Rejected,
              {"'/nodes/0/attrs/weight'", "tensor 'absent' is missing"});
}

} // namespace
