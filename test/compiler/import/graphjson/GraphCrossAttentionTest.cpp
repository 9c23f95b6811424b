// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attention attribute `cross`: sizes, and each error.
#include "dialects/attn/Attn.h"
#include "test/compiler/import/graphjson/EncoderDecoderGraph.h"
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// A decoder whose attention to the encoder has these attributes.
EncoderDecoderGraph withAttributes(const std::string &attributes,
                                   const std::string &inputs = "\"own\"") {
  EncoderDecoderGraph graph;
  graph.cross = R"({"name": "read", "op": "attention", "inputs": [)" + inputs +
                R"(], "attrs": {)" + attributes + "}}";
  return graph;
}

const std::string right =
    R"("heads": 4, "kv_heads": 2, "cross": "encoder", "key_weight": "key", "value_weight": "value")";

TEST(GraphCrossAttention, scale_and_cap) {
  for (const auto &[attributes, scale] :
       {std::pair<const char *, const char *>{"", "scale 0.70710678118654746"},
        {R"(, "scale": 0.25)", "scale 2.500000e-01"},
        {R"(, "soft_cap": 30)", "soft_cap = 3.000000e+01"}}) {
    EncoderDecoderFolder folder(withAttributes(right + attributes));
    Imported result(folder.path);
    ASSERT_TRUE(result.module) << result.error.message;
    EXPECT_EQ(getCount(result.text(), scale), 1u) << scale;
  }
}

TEST(GraphCrossAttention, biases_are_added_once_for_each_source) {
  EncoderDecoderFolder folder(withAttributes(
      right + R"(, "key_bias": "key_bias", "value_bias": "value_bias")"));
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto step = result.module->lookupSymbol<mlir::func::FuncOp>("step");
  size_t inStep = 0;
  step.walk([&](attn::LinearOp) { ++inStep; });
  EXPECT_EQ(inStep, 1u); // the head
  EXPECT_EQ(getCount(result.text(), "attn.weight @key_bias :"), 1u);
}

TEST(GraphCrossAttentionErrors, graphs_without_an_encoder) {
  expectGraphError(graph(
                       R"({"name": "y", "op": "attention", "inputs": ["x"],
              "attrs": {"heads": 2, "cross": "encoder", "key_weight": "k", "value_weight": "v"}})",
                       "\"y\""),
                   Status::Rejected, {"'/nodes/0/attrs/cross'", "'graphs'"});
}

TEST(GraphCrossAttentionErrors, other_graphs) {
  std::string other = right;
  other.replace(other.find("encoder"), 7, "decoder");
  expectError(withAttributes(other), Status::Unsupported,
              {"/attrs/cross", "'decoder'", "supported: encoder"});
  other = right;
  other.replace(other.find("\"encoder\""), 9, "3");
  expectError(withAttributes(other), Status::Rejected, {"/attrs/cross"});
}

TEST(GraphCrossAttentionErrors, operands) {
  expectError(withAttributes(right, R"("own", "own", "own")"), Status::Rejected,
              {"expects 1 input, the query, got 3"});
  EncoderDecoderGraph graph = withAttributes(right);
  graph.cross =
      R"({"name": "three", "op": "reshape", "inputs": ["own"], "attrs": {"shape": ["rows", 1, 8]}},
         {"name": "read", "op": "attention", "inputs": ["three"], "attrs": {)" +
      right + "}}";
  expectError(graph, Status::Rejected, {"a query f32 [rows, heads * width]"});
}

TEST(GraphCrossAttentionErrors, attributes) {
  for (const char *more :
       {R"("causal": true)", R"("window": 3)", R"("alibi": true)",
        R"("relative_bias": "g")", R"("cache": "kv")", R"("max_distance": 9)",
        R"("buckets": 8)", R"("symmetric": true)"})
    expectError(withAttributes(right + ", " + more), Status::Rejected,
                {"/attrs/", "does not go with 'cross'"});
  expectError(withAttributes(R"("heads": 4, "cross": "encoder")"),
              Status::Rejected, {"needs the attribute 'key_weight'"});
  expectError(
      withAttributes(R"("heads": 4, "cross": "encoder", "key_weight": "key")"),
      Status::Rejected, {"needs the attribute 'value_weight'"});
  expectError(withAttributes(right + R"(, "soft_cap": -1)"), Status::Rejected,
              {"'soft_cap' is negative"});
}

TEST(GraphCrossAttentionErrors, projections_of_an_attention_to_its_own_graph) {
  EncoderDecoderGraph graph;
  graph.self =
      R"({"name": "own", "op": "attention", "inputs": ["x", "x", "x"],
          "attrs": {"heads": 2, "cache": "kv", "key_weight": "key"}})";
  expectError(graph, Status::Rejected,
              {"/attrs/key_weight", "goes with 'cross'"});
  graph.self =
      R"({"name": "own", "op": "attention", "inputs": ["x"], "attrs": {"heads": 2, "cache": "kv"}})";
  expectError(graph, Status::Rejected, {"expects 3 to 4 inputs, got 1"});
}

TEST(GraphCrossAttentionErrors, sizes_that_contradict_each_other) {
  auto with = [](const char *key, const char *value, const char *more,
                 const std::vector<std::string> &texts) {
    expectError(withAttributes(std::string(R"("heads": 4, "kv_heads": 2, )") +
                               R"("cross": "encoder", "key_weight": ")" + key +
                               R"(", "value_weight": ")" + value + "\"" + more),
                Status::Rejected, texts);
  };
  with("nowhere", "value", "",
       {"/attrs/key_weight", "tensor 'nowhere' is missing"});
  with("wide", "value", "",
       {"/attrs/key_weight", "[4, 8]", "expected [width, 6]"});
  with("key", "g", "", {"/attrs/value_weight", "[6]", "[width, 6]"});
  with("key", "value", R"(, "key_bias": "value_bias")",
       {"/attrs/key_bias", "[6]", "expected [4]"});
  with("key", "value", R"(, "value_bias": "missing_bias")",
       {"/attrs/value_bias", "'missing_bias' is missing"});
  // The query is [rows, 8]: four heads of width 2, not 3.
  with("value", "value", "", {"/graphs/decoder/nodes/2"});
  expectError(
      withAttributes(
          R"("heads": 3, "cross": "encoder", "key_weight": "key", "value_weight": "value")"),
      Status::Rejected, {"'kv_heads' 3 must divide", "the key's width 4"});
}

} // namespace
