// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph.json as a whole: blocks, weights, edges.
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

struct GraphImport : GraphWithWeights {};

TEST_F(GraphImport, repeats_a_block_with_numbered_weights) {
  write(R"({"name": "layers", "block": "layer", "repeat": 2,
            "inputs": ["x"], "weights": "layer.{i}."})",
        R"("layers")",
        R"("blocks": {"layer": {"inputs": ["h"], "nodes": [
            {"name": "up", "op": "linear", "inputs": ["h"], "attrs": {"weight": "w"}},
            {"name": "sum", "op": "add", "inputs": ["up", "h"]}],
            "outputs": ["sum"]}},)");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  std::string text = result.text();
  EXPECT_EQ(getCount(text, "attn.linear"), 2u);
  EXPECT_EQ(getCount(text, "attn.mask"), 1u + getCount(text, "attn.mask_of"));
  EXPECT_EQ(result.info.unusedTensors,
            (std::vector<std::string>{"b", "extra", "table", "v", "w"}));
  std::set<std::string> locations;
  result.module->walk([&](mlir::Operation *op) {
    locations.insert(getModulePath(op->getLoc()));
  });
  EXPECT_TRUE(locations.count("layers.1.up"));
}

TEST(GraphImportErrors, unknown_op) {
  expectGraphError(
      graph(R"({"name": "a", "op": "sofmax", "inputs": ["x"]})", "\"a\""),
      Status::Unsupported,
      {"'/nodes/0/op'", "unknown op 'sofmax'", "did you mean 'softmax'"});
}

TEST(GraphImportErrors, dangling_edge) {
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["y"]})", "\"a\""),
      Status::Rejected, {"'/nodes/0/inputs/0'", "edge 'y'"});
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})", "\"c\""),
      Status::Rejected, {"'/outputs/0'", "edge 'c'"});
}

TEST(GraphImportErrors, no_such_result) {
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["x:1"]})", "\"a\""),
      Status::Rejected, {"'x' has 1 result, no number 1"});
}

TEST(GraphImportErrors, weights_that_are_missing) {
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})",
                         "\"a\"", R"("weights": ["w.safetensors"],)"),
                   Status::Unavailable, {"w.safetensors"});
}

TEST(GraphImportErrors, too_many_nodes_written_out) {
  expectGraphError(
      graph(R"({"name": "a", "block": "p", "repeat": 4096, "inputs": ["x"]})",
            "\"a\"",
            R"("blocks": {"p": {"inputs": ["h"], "nodes": [
                 {"name": "q", "block": "q", "repeat": 4096, "inputs": ["h"]}],
                 "outputs": ["q"]},
               "q": {"inputs": ["h"], "nodes": [], "outputs": ["h"]}},)"),
      Status::Rejected, {"more than 1000000 nodes"});
}

} // namespace
