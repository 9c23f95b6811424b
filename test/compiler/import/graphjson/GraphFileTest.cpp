// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys, names and types.
#include "test/compiler/import/graphjson/GraphFixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

TEST(GraphFileErrors, malformed_json) {
  expectGraphError("{\"transom\": 1,", Status::Rejected, {"graph.json:1:"});
}

TEST(GraphFileErrors, missing_version) {
  expectGraphError("{}", Status::Rejected, {"missing key 'transom'"});
}

TEST(GraphFileErrors, other_version) {
  expectGraphError("{\"transom\": 2}", Status::Unsupported, {"supported: 1"});
}

TEST(GraphFileErrors, unknown_key) {
  expectGraphError(graph("", "", "\"entri\": 3,"), Status::Rejected,
                   {"unknown key 'entri'", "did you mean 'entry'"});
}

TEST(GraphFileErrors, names_cannot_break_the_line) {
  expectGraphError(
      graph(R"({"name": "a", "op": "so\nft", "inputs": ["x"]})", "\"a\""),
      Status::Unsupported, {"unknown op 'so\\x0aft'"});
}

TEST(GraphFileErrors, unknown_dtype) {
  expectGraphError(
      R"({"transom": 1, "inputs": [{"name": "x", "dtype": "f33", "shape": [1]}], "nodes": [], "outputs": []})",
      Status::Rejected, {"unsupported dtype 'f33'", "f32"});
}

TEST(GraphFileErrors, graphs_are_an_encoder_and_a_decoder) {
  const std::string half = R"({"inputs": [], "nodes": [], "outputs": []})";
  auto with = [](const std::string &graphs, Status status,
                 const std::vector<std::string> &texts,
                 const std::string &more = "") {
    expectGraphError("{\"transom\": 1, " + more + "\"graphs\": " + graphs + "}",
                     status, texts);
  };
  with("[]", Status::Rejected, {"'/graphs'"});
  with("{}", Status::Rejected, {"'/graphs'", "missing key 'encoder'"});
  with("{\"encoder\": 3}", Status::Rejected, {"'/graphs/encoder'"});
  with("{\"encoder\": " + half + "}", Status::Rejected,
       {"'/graphs/encoder'", "no inputs"});
  with("{\"encoder\": {\"nods\": []}}", Status::Rejected,
       {"'/graphs/encoder'", "unknown key 'nods'", "did you mean 'nodes'"});
  with("{\"first\": " + half + "}", Status::Unsupported,
       {"'/graphs/first'", "supported: decoder, encoder"});
  with("{}", Status::Rejected, {"unknown key 'nodes'"}, "\"nodes\": [], ");
}

TEST(GraphFileErrors, cross_belongs_to_an_attention) {
  expectGraphError(
      graph(R"({"name": "a", "op": "relu", "inputs": ["x"], "cross": "y"})",
            "\"a\""),
      Status::Rejected, {"'/nodes/0'", "unknown key 'cross'"});
  expectGraphError(
      graph(
          R"({"name": "a", "op": "relu", "inputs": ["x"], "attrs": {"cross": "encoder"}})",
          "\"a\""),
      Status::Rejected,
      {"'/nodes/0/attrs'", "unknown attribute 'cross' of op"});
}

TEST(GraphFileErrors, weights_are_plain_file_names) {
  expectGraphError(graph(R"({"name": "a", "op": "relu", "inputs": ["x"]})",
                         "\"a\"", R"("weights": ["../w.safetensors"],)"),
                   Status::Rejected, {"'/weights/0'", "../w.safetensors"});
}

TEST(GraphFileErrors, mask_of_nothing) {
  expectGraphError(
      R"({"transom": 1, "dims": {"b": {}}, "inputs": [
          {"name": "x", "dtype": "f32", "shape": ["b", 2]},
          {"name": "m", "dtype": "bool", "shape": ["b", 2], "mask_of": "y"}],
          "nodes": [{"name": "a", "op": "relu", "inputs": ["x"]}], "outputs": ["a"]})",
      Status::Rejected, {"'/inputs/1/mask_of'", "'y'"});
}

TEST(GraphFileErrors, dim_that_no_input_has) {
  expectGraphError(
      R"({"transom": 1, "dims": {"b": {}, "c": {}}, "inputs": [
          {"name": "x", "dtype": "f32", "shape": ["b", 2]}],
          "nodes": [{"name": "a", "op": "relu", "inputs": ["x"]}], "outputs": ["a"]})",
      Status::Rejected, {"dim 'c'"});
}

TEST(GraphFileErrors, name_used_twice) {
  expectGraphError(
      graph(R"({"name": "x", "op": "relu", "inputs": ["x"]})", "\"x\""),
      Status::Rejected, {"name 'x' is used twice"});
}

} // namespace
