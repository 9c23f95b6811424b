// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Import of weights, constants and triangular masks. test/e2e/spellings tests
// them in attention.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphWeights : GraphWithWeights {};

TEST_F(GraphWeights, constants_are_constants) {
  write(R"({"name": "c", "op": "constant", "attrs": {"value": 8}},
           {"name": "m", "op": "constant", "attrs": {"value": [[0, "-inf"]]}},
           {"name": "u", "op": "constant", "attrs": {"value": 3}},
           {"name": "a", "op": "mul", "inputs": ["x", "c"]},
           {"name": "s", "op": "slice", "inputs": ["a"],
            "attrs": {"axis": -1, "size": 2}},
           {"name": "b", "op": "add", "inputs": ["s", "m"]})",
        R"("b")");
  Imported result(folder.path);
  const std::string text = result.text();
  EXPECT_EQ(getCount(text, "attn.constant"), 2u) << text;
  EXPECT_EQ(getCount(text, "attn.weight"), 0u) << text;
  EXPECT_NE(text.find("dense<8.0"), std::string::npos) << text;
  EXPECT_NE(text.find("0xFF800000"), std::string::npos) << text;
}

TEST_F(GraphWeights, products_and_tables_take_constants_as_weights) {
  write(R"({"name": "c", "op": "constant",
            "attrs": {"value": [[1, 0], [0, 1], [1, 1], [0, 0],
                                [2, 0], [0, 2], [2, 2], [0, 0]]}},
           {"name": "m", "op": "matmul", "inputs": ["x", "c"]},
           {"name": "g", "op": "gather", "inputs": ["c", "ids"]},
           {"name": "y", "op": "add", "inputs": ["m", "g"]})",
        R"("y")");
  Imported result(folder.path);
  const std::string text = result.text();
  EXPECT_EQ(getCount(text, "attn.linear"), 1u) << text;
  EXPECT_EQ(getCount(text, "attn.embedding"), 1u) << text;
  EXPECT_EQ(getCount(text, "attn.constant"), 0u) << text;
  EXPECT_EQ(getCount(text, "attn.weight @"), 2u) << "and turned: " << text;
}

TEST_F(GraphWeights, stored_bools_are_bools) {
  folder.writeTensors({{"keep", {1, 16, 8}}, {"many", {257, 256}}},
                      "b.safetensors", DType::Bool);
  auto writeMask = [&](const std::string &tensor) {
    folder.write(
        "graph.json",
        graph(R"({"name": "k", "op": "weight", "attrs": {"tensor": ")" +
                  tensor + R"("}},
                 {"name": "c", "op": "slice", "inputs": ["k"],
                  "attrs": {"axis": 1, "size": "seq"}},
                 {"name": "y", "op": "mask", "inputs": ["x", "c"]})",
              R"("y")", R"("weights": ["b.safetensors"],)"));
  };
  writeMask("keep");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_NE(result.text().find("to i1"), std::string::npos) << result.text();
  EXPECT_EQ(result.info.unusedTensors, std::vector<std::string>{"many"});
  writeMask("many");
  expectError(folder.path, Status::Unsupported,
              {"'/nodes/0/attrs/tensor'",
               "tensor 'many' of bools has shape [257, 256]; supported: up to "
               "65536 elements, and triangles"});
}

TEST_F(GraphWeights, refuses_numbers_beyond_f32) {
  for (const char *value : {"1e39", "[1, \"inf\"]", "[[1], 2]", "[]"}) {
    write(R"({"name": "c", "op": "constant", "attrs": {"value": )" +
              std::string(value) +
              R"(}}, {"name": "y", "op": "add", "inputs": ["x", "c"]})",
          R"("y")");
    expectError(folder.path, Status::Rejected, {"'/nodes/0/attrs/value"});
  }
}

} // namespace
