// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that an entry computes, as a formula in its sizes.
#include "test/compiler/inspect/InspectGraph.h"

using namespace transom::test;

namespace {

/// Expects the formula for a graph with `x` [n, s, 8] and `y` [8, 3].
void expectFlops(const std::string &nodes, const std::string &formula) {
  SCOPED_TRACE(nodes);
  auto report = inspectGraph(R"json({
    "transom": 1, "name": "graph", "dims": {"n": {}, "s": {}},
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", "s", 8]},
               {"name": "y", "dtype": "f32", "shape": [8, 3]}],
    "nodes": [)json" + nodes +
                             R"json(], "outputs": ["out"]})json");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(report->json.find("\"flops\": \"" + formula + "\""),
            std::string::npos)
      << report->json;
}

TEST(ModelCost, ofProducts) {
  const std::string product =
      R"json({"name": "out", "op": "matmul", "inputs": ["x", "y"]})json";
  expectFlops(product, "48*n*s"); // 2 * n * s * 3 * 8
}

TEST(ModelCost, ofAttention) {
  // Each of two heads has s * s scores with width 4, and sums the same number
  // of values.
  expectFlops(R"json({"name": "out", "op": "attention",
                      "inputs": ["x", "x", "x"], "attrs": {"heads": 2}})json",
              "32*n*s*s");
}

TEST(ModelCost, ofOtherOperationsIsNothing) {
  expectFlops(R"json({"name": "out", "op": "relu", "inputs": ["x"]})json", "0");
}

TEST(ModelCost, isTheSumOfOperations) {
  expectFlops(R"json({"name": "a", "op": "attention",
                      "inputs": ["x", "x", "x"], "attrs": {"heads": 2}},
                     {"name": "m", "op": "matmul", "inputs": ["a", "y"]},
                     {"name": "out", "op": "relu", "inputs": ["m"]})json",
              "32*n*s*s+48*n*s");
}

} // namespace
