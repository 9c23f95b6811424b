// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas for a graph; test/tools/commands/inspect/test_inspect_model.py tests
// model families.
#include "test/compiler/inspect/InspectGraph.h"
#include <gtest/gtest.h>

using namespace transom::test;

namespace {

TEST(ModelFormulas, aGraphWithoutAttentionHasNone) {
  auto report = inspectGraph(R"json({
    "transom": 1, "name": "graph", "dims": {"n": {}},
    "inputs": [{"name": "x", "dtype": "f32", "shape": ["n", 4]}],
    "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}],
    "outputs": ["y"]})json");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->json.find("\"formulas\""), std::string::npos);
}

TEST(ModelFormulas, attentionWithoutProductsIsExact) {
  auto report = inspectGraph(R"json({
    "transom": 1, "name": "graph", "dims": {"n": {"max": 16}},
    "inputs": [{"name": "x", "dtype": "f32", "shape": [1, "n", 8]}],
    "nodes": [{"name": "p", "op": "matmul", "inputs": ["x", "x"],
               "attrs": {"transpose_b": true}},
              {"name": "q", "op": "softmax", "inputs": ["p"]},
              {"name": "y", "op": "matmul", "inputs": ["q", "x"]}],
    "outputs": ["y"]})json");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_NE(report->json.find("\"flops\": \"32*n*n\""), std::string::npos)
      << report->json;
}

} // namespace
