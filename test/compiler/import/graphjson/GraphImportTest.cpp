// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json: what is built, and the error for each way to be wrong.
#include "compiler/import/graphjson/GraphOps.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

/// The text of a graph with these parts; x is f32 [batch, seq, 8].
std::string graph(const std::string &nodes, const std::string &outputs,
                  const std::string &more = "") {
  return R"({"transom": 1, "dims": {"batch": {}, "seq": {"max": 16}},
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", "seq", 8]},
            {"name": "ids", "dtype": "i32", "shape": ["batch", "seq"]},
            {"name": "keep", "dtype": "bool", "shape": ["batch", "seq"],
             "mask_of": "ids"}],)" +
         more + "\n \"nodes\": [" + nodes + "],\n \"outputs\": [" + outputs +
         "]}";
}

void expectGraphError(const std::string &text, Status status,
                      const std::vector<std::string> &parts) {
  ModelFolder folder;
  folder.write("graph.json", text);
  expectError(folder.path, status, parts);
}

const char *weightsKey = R"("weights": ["w.safetensors"],)";

/// Imports a graph beside a w.safetensors with a few tensors.
struct WithWeights : ::testing::Test {
  ModelFolder folder;
  void SetUp() override {
    folder.writeTensors({{"w", {8, 8}},
                         {"v", {4, 8}},
                         {"b", {8}},
                         {"table", {16, 8}},
                         {"layer.0.w", {8, 8}},
                         {"layer.1.w", {8, 8}},
                         {"extra", {3}}},
                        "w.safetensors");
  }
  void write(const std::string &nodes, const std::string &outputs,
             const std::string &more = "") {
    folder.write("graph.json", graph(nodes, outputs, more + weightsKey));
  }
};

TEST_F(WithWeights, repeats_a_block_with_numbered_weights) {
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

TEST_F(WithWeights, reads_nodes_in_any_order) {
  write(R"({"name": "b", "op": "relu", "inputs": ["a"]},
           {"name": "a", "op": "neg", "inputs": ["x"]})",
        R"({"name": "y", "edge": "b"})");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("run");
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry.getResultAttrOfType<mlir::StringAttr>(0, "attn.name"), "y");
  EXPECT_EQ(entry.getArgAttrOfType<mlir::StringAttr>(1, "attn.dtype"), "i32");
}

TEST_F(WithWeights, a_product_with_a_weight_is_linear) {
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

TEST_F(WithWeights, bounds_the_ids_of_an_embedding) {
  write(R"({"name": "e", "op": "embedding", "inputs": ["ids"],
            "attrs": {"table": "table"}})",
        R"("e")");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("run");
  EXPECT_EQ(entry.getArgAttrOfType<mlir::IntegerAttr>(1, "attn.bound").getInt(),
            16);
  EXPECT_EQ(entry.getArgAttrOfType<mlir::StringAttr>(1, "attn.role"), "ids");
}

TEST_F(WithWeights, splits_into_numbered_results) {
  write(R"({"name": "s", "op": "split", "inputs": ["x"],
            "attrs": {"axis": -1, "parts": 2}, "outputs": ["left", "right"]},
           {"name": "a", "op": "add", "inputs": ["s:1", "left"]})",
        R"("a")");
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "attn.slice"), 2u);
}

TEST_F(WithWeights, refuses_weights_that_do_not_fit) {
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

TEST_F(WithWeights, refuses_positions_beyond_the_table) {
  write(R"({"name": "p", "op": "position", "inputs": ["ids"],
            "attrs": {"kind": "nonpad_rank", "pad": 1}},
           {"name": "e", "op": "embedding", "inputs": ["p"], "attrs": {"table": "table"}})",
        R"("e")");
  expectError(folder.path, Status::Rejected, {"18", "16 rows"});
}

TEST(GraphErrors, malformed_json) {
  expectGraphError("{\"transom\": 1,", Status::Rejected, {"graph.json:1:"});
}
TEST(GraphErrors, missing_version) {
  expectGraphError("{}", Status::Rejected, {"missing key 'transom'"});
}
TEST(GraphErrors, other_version) {
  expectGraphError("{\"transom\": 2}", Status::Unsupported, {"supported: 1"});
}
TEST(GraphErrors, unknown_key) {
  expectGraphError(graph("", "", "\"entri\": 3,"), Status::Rejected,
                   {"unknown key 'entri'", "did you mean 'entry'"});
}
TEST(GraphErrors, unknown_op) {
  expectGraphError(
      graph(R"({"name": "a", "op": "sofmax", "inputs": ["x"]})", "\"a\""),
      Status::Unsupported,
      {"'/nodes/0/op'", "unknown op 'sofmax'", "did you mean 'softmax'"});
}
TEST(GraphErrors, names_cannot_break_the_line) {
  expectGraphError(
      graph(R"({"name": "a", "op": "so\nft", "inputs": ["x"]})", "\"a\""),
      Status::Unsupported, {"unknown op 'so\\x0aft'"});
}
TEST(GraphErrors, unknown_dim) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "reshape", "inputs": ["x"], "attrs": {"shape": ["batch", "sek", 8]}})",
          "\"a\""),
      Status::Rejected, {"unknown dim 'sek'", "did you mean 'seq'"});
}
TEST(GraphErrors, dangling_edge) {
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["y"]})", "\"a\""),
      Status::Rejected, {"'/nodes/0/inputs/0'", "edge 'y'"});
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})", "\"c\""),
      Status::Rejected, {"'/outputs/0'", "edge 'c'"});
}
TEST(GraphErrors, no_such_result) {
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["x:1"]})", "\"a\""),
      Status::Rejected, {"'x' has 1 result, no number 1"});
}
TEST(GraphErrors, cycle) {
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["b"]},
                            {"name": "b", "op": "relu", "inputs": ["a"]})",
                         "\"a\""),
                   Status::Rejected, {"cycle: a -> b -> a"});
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["a"]})", "\"a\""),
      Status::Rejected, {"cycle: a -> a"});
}
TEST(GraphErrors, block_in_itself) {
  expectGraphError(graph(R"({"name": "a", "block": "l", "inputs": ["x"]})",
                         "\"a\"",
                         R"("blocks": {"l": {"inputs": ["h"], "nodes": [
                {"name": "again", "block": "l", "inputs": ["h"]}],
                "outputs": ["again"]}},)"),
                   Status::Rejected, {"block 'l' contains itself"});
}
TEST(GraphErrors, name_used_twice) {
  expectGraphError(
      graph(R"({"name": "x", "op": "relu", "inputs": ["x"]})", "\"x\""),
      Status::Rejected, {"name 'x' is used twice"});
}
TEST(GraphErrors, shape_clash) {
  expectGraphError(
      graph(
          R"({"name": "t", "op": "transpose", "inputs": ["x"], "attrs": {"permutation": [0, 2, 1]}},
               {"name": "a", "op": "add", "inputs": ["x", "t"]})",
          "\"a\""),
      Status::Rejected, {"graph.json:", "'/nodes/1'", "broadcast", "seq"});
}
TEST(GraphErrors, unknown_attribute) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "scale", "inputs": ["x"], "attrs": {"factr": 2}})",
          "\"a\""),
      Status::Rejected, {"factor"});
}
TEST(GraphErrors, number_of_inputs) {
  expectGraphError(
      graph(R"({"name": "a", "op": "add", "inputs": ["x"]})", "\"a\""),
      Status::Rejected, {"'add' expects 2 inputs, got 1"});
}
TEST(GraphErrors, operand_of_another_type) {
  expectGraphError(
      graph(R"({"name": "a", "op": "attention", "attrs": {"heads": 2},
                "inputs": ["x", "x", "x", "ids"]})",
            "\"a\""),
      Status::Unsupported,
      {"/nodes/0/inputs/3", "op 'attention' of i64 values is not supported",
       "supported: f32, bool; the op 'cast' converts"});
}
TEST(GraphErrors, slice_that_can_leave_its_axis) {
  expectGraphError(
      graph(
          R"({"name": "a", "op": "slice", "inputs": ["x"], "attrs": {"axis": 1, "size": 4}})",
          "\"a\""),
      Status::Rejected, {"can leave the axis of size 'seq'"});
}
TEST(GraphErrors, unknown_dtype) {
  expectGraphError(
      R"({"transom": 1, "inputs": [{"name": "x", "dtype": "f33", "shape": [1]}], "nodes": [], "outputs": []})",
      Status::Rejected, {"unsupported dtype 'f33'", "f32"});
}
TEST(GraphErrors, several_graphs_are_not_built) {
  expectGraphError(R"({"transom": 1, "graphs": {}})", Status::Unsupported,
                   {"'graphs' is not supported"});
}
TEST(GraphErrors, weights_are_plain_file_names) {
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})",
                         "\"a\"", R"("weights": ["../w.safetensors"],)"),
                   Status::Rejected, {"'/weights/0'", "../w.safetensors"});
}
TEST(GraphErrors, weights_that_are_missing) {
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})",
                         "\"a\"", R"("weights": ["w.safetensors"],)"),
                   Status::Unavailable, {"w.safetensors"});
}
TEST(GraphErrors, mask_of_nothing) {
  expectGraphError(
      R"({"transom": 1, "dims": {"b": {}}, "inputs": [
          {"name": "x", "dtype": "f32", "shape": ["b", 2]},
          {"name": "m", "dtype": "bool", "shape": ["b", 2], "mask_of": "y"}],
          "nodes": [{"name": "a", "op": "relu", "inputs": ["x"]}], "outputs": ["a"]})",
      Status::Rejected, {"'/inputs/1/mask_of'", "'y'"});
}
TEST(GraphErrors, dim_that_no_input_has) {
  expectGraphError(
      R"({"transom": 1, "dims": {"b": {}, "c": {}}, "inputs": [
          {"name": "x", "dtype": "f32", "shape": ["b", 2]}],
          "nodes": [{"name": "a", "op": "relu", "inputs": ["x"]}], "outputs": ["a"]})",
      Status::Rejected, {"dim 'c'"});
}
TEST(GraphErrors, too_many_nodes_written_out) {
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
