// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broadcasting, casts and choices.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(GraphElementwiseErrors, shape_clash) {
  expectGraphError(
      graph(
          R"({"name": "t", "op": "transpose", "inputs": ["x"], "attrs": {"permutation": [0, 2, 1]}},
               {"name": "a", "op": "add", "inputs": ["x", "t"]})",
          "\"a\""),
      Status::Rejected, {"graph.json:", "'/nodes/1'", "broadcast", "seq"});
}

TEST(GraphElementwise, each_operation_is_one_of_the_dialect) {
  ModelFolder folder;
  folder.write("graph.json",
               graph(R"({"name": "a", "op": "sub", "inputs": ["x", "x"]},
                        {"name": "b", "op": "mul", "inputs": ["a", "x"]},
                        {"name": "c", "op": "div", "inputs": ["b", "x"]},
                        {"name": "d", "op": "scale", "inputs": ["c"], "attrs": {"factor": 2}},
                        {"name": "k", "op": "not", "inputs": ["keep"]},
                        {"name": "l", "op": "or", "inputs": ["k", "keep"]},
                        {"name": "n", "op": "cast", "inputs": ["l"], "attrs": {"to": "f32"}})",
                     R"("d", "n")"));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string text = result.text();
  for (const char *op : {"attn.sub ", "attn.mul ", "attn.div ", "attn.scale ",
                         "attn.not ", "attn.or ", "attn.cast "})
    EXPECT_EQ(getCount(text, op), 1u) << op;
}

TEST(GraphElementwise, casts_to_three_types) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "cast", "inputs": ["x"], "attrs": {"to": "f16"}})",
          "\"a\""),
      Status::Unsupported,
      {"'/nodes/0/attrs/to'", "supported: f32, i64, bool"});
}

} // namespace
