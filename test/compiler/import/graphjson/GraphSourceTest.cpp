// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoder-decoders in graph.json: their three entries, and the error for each
// invalid encoder or decoder. examples/transformer checks the results.
#include "compiler/import/graphjson/GraphSource.h"
#include "test/compiler/import/graphjson/EncoderDecoderGraph.h"

using namespace transom;
using namespace transom::testing;

namespace {

std::string getText(mlir::func::FuncOp function, llvm::StringRef name) {
  auto text = function->getAttrOfType<mlir::StringAttr>(name);
  return text ? text.getValue().str() : "";
}

TEST(GraphSource, is_the_entry_between_encoder_and_step) {
  EncoderDecoderFolder folder({});
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  for (const char *name : {"encode", "source", "step"})
    ASSERT_TRUE(result.module->lookupSymbol<mlir::func::FuncOp>(name)) << name;
  auto source = result.module->lookupSymbol<mlir::func::FuncOp>("source");
  EXPECT_EQ(getText(source, "transom.kind"), "source");
  EXPECT_EQ(getText(source, "transom.encoder"), "encode");
  EXPECT_EQ(source.getNumResults(), 0u);
  const std::string text = result.text();
  EXPECT_EQ(getCount(text, "attn.append"), 1u);
  EXPECT_EQ(getCount(text, "attn.cross_sdpa"), 1u);
  // The source dim bounds the cache.
  EXPECT_EQ(getCount(text, "attn.cache @decoder.read : !attn.cache<heads 2, "
                           "key 2, value 3, read_only 12>"),
            1u);
  EXPECT_EQ(getCount(text, "attn.cache @decoder.kv :"), 1u);
  EXPECT_EQ(getCount(text, "max_length = 12"), 1u);
  EXPECT_EQ(getCount(text, "head = \"causal_lm\""), 1u);
}

TEST(GraphSource, sources_without_a_limit) {
  EncoderDecoderGraph graph;
  graph.dims = R"({"n": {"max": 3}, "len": {}, "rows": {}})";
  EncoderDecoderFolder folder(graph);
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "attn.cache @decoder.read : !attn.cache<"
                                    "heads 2, key 2, value 3, read_only "
                                    "2147483647>"),
            1u);
  EXPECT_EQ(getCount(result.text(), "max_length"), 0u);
}

TEST(GraphSource, entries_and_inputs_have_any_names_and_order) {
  EncoderDecoderGraph graph;
  graph.encoderEntry = R"("entry": "read", )";
  graph.decoderEntry = R"("entry": "write", )";
  std::swap(graph.ids, graph.mask);
  EncoderDecoderFolder folder(graph);
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto source = result.module->lookupSymbol<mlir::func::FuncOp>("source");
  EXPECT_EQ(getText(source, "transom.encoder"), "read");
  EXPECT_TRUE(result.module->lookupSymbol<mlir::func::FuncOp>("write"));
}

TEST(GraphSource, caches_and_weights_do_not_take_the_names_of_entries) {
  EncoderDecoderGraph graph;
  graph.encoderEntry = R"("entry": "key", )";
  graph.decoderEntry = R"("entry": "value", )";
  EncoderDecoderFolder folder(graph);
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "attn.weight @key_ :"), 1u);
  EXPECT_EQ(getCount(result.text(), "attn.weight @value_ :"), 1u);
}

TEST(GraphSource, layers_fill_their_caches_in_order) {
  // A layer block used twice, each with cross attention.
  EncoderDecoderGraph graph;
  graph.blocks = R"({"layer": {"inputs": ["x"], "nodes": [
    {"name": "read", "op": "attention", "inputs": ["x"],
     "attrs": {"heads": 2, "cross": "encoder", "key_weight": "wide", "value_weight": "more"}}],
    "outputs": ["read"]}})";
  graph.cross =
      R"({"name": "layers", "block": "layer", "repeat": 2, "weights": "l{i}.", "inputs": ["own"]})";
  graph.head =
      R"({"name": "logits", "op": "linear", "inputs": ["layers"], "attrs": {"weight": "last"}})";
  EncoderDecoderFolder folder(graph);
  folder.writeTensors({{"sources", {9, 6}},
                       {"targets", {7, 8}},
                       {"l0.wide", {8, 6}},
                       {"l0.more", {8, 6}},
                       {"l1.wide", {8, 6}},
                       {"l1.more", {8, 6}},
                       {"last", {7, 8}}},
                      "w.safetensors");
  // Each layer appends once, in the order of the layers.
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  const std::string text = result.text();
  EXPECT_EQ(getCount(text, "attn.append"), 2u);
  size_t first = text.find("attn.cache @decoder.layers.0.read"),
         second = text.find("attn.cache @decoder.layers.1.read");
  EXPECT_LT(first, second);
  EXPECT_NE(second, std::string::npos);
}

//===--- Names -----------------------------------------------------------===//

TEST(GraphSourceErrors, names_of_entries) {
  EncoderDecoderGraph graph;
  for (const char *name : {"source", "step", "logits", "score", "generate"}) {
    graph.encoderEntry = std::string("\"entry\": \"") + name + "\", ";
    expectError(graph, Status::Rejected,
                {"'/graphs/encoder/entry'", std::string("'") + name + "'"});
  }
  graph.encoderEntry = "";
  for (const char *name : {"source", "encode", "logits", "generate"}) {
    graph.decoderEntry = std::string("\"entry\": \"") + name + "\", ";
    expectError(graph, Status::Rejected, {std::string("'") + name + "'"});
  }
}

TEST(GraphSourceErrors, two_graphs_with_one_entry) {
  const std::string what = "the graphs 'encoder' and 'decoder' have the same "
                           "entry ";
  EncoderDecoderGraph graph;
  graph.decoderEntry = R"("entry": "encode", )";
  expectError(graph, Status::Rejected,
              {"'/graphs/decoder/entry'", what + "'encode'"});
  graph.encoderEntry = graph.decoderEntry;
  expectError(graph, Status::Rejected,
              {"'/graphs/decoder/entry'", what + "'encode'"});
  graph.encoderEntry = R"("entry": "step", )";
  graph.decoderEntry = "";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/entry'", what + "'step'"});
}

//===--- The encoder -----------------------------------------------------===//

TEST(GraphSourceErrors, inputs_of_the_encoder) {
  const char *rule = "the inputs of an encoder are i64 ids";
  auto with = [&](const std::string &ids, const std::string &mask,
                  const char *at) {
    EncoderDecoderGraph graph;
    graph.ids = ids;
    graph.mask = mask;
    expectError(graph, Status::Rejected, {at, rule});
  };
  // An encoder without a mask.
  const EncoderDecoderGraph right;
  EncoderDecoderGraph alone;
  alone.mask = "";
  alone.states =
      R"({"name": "y", "op": "embedding", "inputs": ["ids"], "attrs": {"table": "sources"}})";
  expectError(alone, Status::Rejected, {"'/graphs/encoder/inputs/0'", rule});
  // Each input has the right role, type and shape.
  with(right.ids, R"({"name": "mask", "dtype": "i64", "shape": ["n", "len"]})",
       "'/graphs/encoder/inputs/1'");
  with(
      right.ids,
      R"({"name": "mask", "dtype": "bool", "shape": ["n", "len"], "mask_of": "ids"})",
      "'/graphs/encoder/inputs/1'");
  with(R"({"name": "ids", "dtype": "i32", "shape": ["n", "len"]})", right.mask,
       "'/graphs/encoder/inputs/0'");
  with(
      R"({"name": "ids", "dtype": "i64", "shape": ["n", "len"], "default": 0})",
      right.mask, "'/graphs/encoder/inputs/0'");
  with(right.ids,
       right.mask +
           R"(, {"name": "kinds", "dtype": "i64", "shape": ["n", "len"]})",
       "'/graphs/encoder/inputs/2'");
  // Sizes must be symbols.
  EncoderDecoderGraph fixed;
  fixed.dims = R"({"n": {}, "rows": {}})";
  fixed.ids = R"({"name": "ids", "dtype": "i64", "shape": ["n", 4]})";
  fixed.mask =
      R"({"name": "mask", "dtype": "i64", "shape": ["n", 4], "mask_of": "ids"})";
  expectError(fixed, Status::Rejected, {rule});
}

TEST(GraphSourceErrors, ids_are_looked_up_and_masks_are_not) {
  EncoderDecoderGraph graph;
  graph.states =
      R"({"name": "seen", "op": "cast", "inputs": ["mask"], "attrs": {"to": "bool"}},
    {"name": "p", "op": "position", "inputs": ["ids"]},
    {"name": "y", "op": "embedding", "inputs": ["p"], "attrs": {"table": "sources"}})";
  graph.dims = R"({"n": {}, "len": {"max": 9}, "rows": {}})";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/inputs/0'", "an 'embedding'"});
  graph = {};
  graph.states +=
      R"(, {"name": "kind", "op": "embedding", "inputs": ["mask"], "attrs": {"table": "sources"}},
    {"name": "z", "op": "add", "inputs": ["y", "kind"]})";
  graph.encoderOutputs = "\"z\"";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/inputs/1'", "is not an index"});
}

TEST(GraphSourceErrors, outputs_of_the_encoder) {
  EncoderDecoderGraph graph;
  graph.encoderOutputs = R"("y", "x")";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/outputs/1'", "one output"});
  graph = {};
  graph.states +=
      R"(, {"name": "z", "op": "pool", "inputs": ["y", "seen"], "attrs": {"kind": "mean"}})";
  graph.encoderOutputs = "\"z\"";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/outputs/0'", "f32 [n, len, width]"});
}

TEST(GraphSourceErrors, an_encoder_sees_no_padding) {
  EncoderDecoderGraph graph;
  graph.states =
      R"({"name": "x", "op": "embedding", "inputs": ["ids"], "attrs": {"table": "sources"}},
         {"name": "y", "op": "attention", "inputs": ["x", "x", "x"], "attrs": {"heads": 2}})";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/nodes/1'", "needs a mask"});
}

TEST(GraphSourceErrors, an_encoder_has_no_caches_and_reads_no_encoder) {
  EncoderDecoderGraph graph;
  graph.encoderOutputs +=
      R"(], "caches": [{"name": "kv", "heads": 1, "key": 2, "value": 2})";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/caches'", "a decoder alone"});
  // Of a block.
  graph = {};
  graph.blocks = R"({"layer": {"inputs": ["x"],
    "caches": [{"name": "kv", "heads": 2, "key": 3, "value": 3}],
    "nodes": [{"name": "y", "op": "attention", "inputs": ["x", "x", "x"],
               "attrs": {"heads": 2, "cache": "kv"}}], "outputs": ["y"]}})";
  graph.states =
      R"({"name": "x", "op": "embedding", "inputs": ["ids"], "attrs": {"table": "sources"}},
         {"name": "y", "block": "layer", "inputs": ["x"]})";
  expectError(graph, Status::Rejected, {"/blocks/layer/nodes/0"});
  graph = {};
  graph.states =
      R"({"name": "x", "op": "embedding", "inputs": ["ids"], "attrs": {"table": "sources"}},
         {"name": "y", "op": "attention", "inputs": ["x"],
          "attrs": {"heads": 2, "cross": "encoder", "key_weight": "key", "value_weight": "value"}})";
  expectError(graph, Status::Rejected,
              {"'/graphs/encoder/nodes/1/attrs/cross'", "for the decoder"});
}

//===--- The decoder -----------------------------------------------------===//

TEST(GraphSourceErrors, a_decoder_reads_the_encoder) {
  EncoderDecoderGraph graph;
  graph.cross =
      R"({"name": "read", "op": "concat", "inputs": ["own", "own"], "attrs": {"axis": 1}},
    {"name": "part", "op": "slice", "inputs": ["read"], "attrs": {"axis": 1, "size": 12}})";
  graph.head =
      R"({"name": "logits", "op": "linear", "inputs": ["part"], "attrs": {"weight": "head"}})";
  expectError(graph, Status::Rejected, {"no attention of the decoder"});
}

TEST(GraphSourceErrors, a_decoder_has_logits_and_a_cache) {
  EncoderDecoderGraph graph;
  graph.head =
      R"({"name": "logits", "op": "linear", "inputs": ["read"], "attrs": {"weight": "other_head"}})";
  expectError(graph, Status::Unsupported,
              {"'/graphs/decoder/outputs/0'", "[rows, 7]"});
  graph = {};
  graph.caches = "";
  graph.self = R"({"name": "own", "op": "relu", "inputs": ["x"]})";
  expectError(graph, Status::Unsupported,
              {"'/graphs/decoder/outputs/0'", "'cache'"});
}

TEST(GraphSourceErrors, a_decoder_has_rows_and_no_other_dim) {
  EncoderDecoderGraph graph;
  graph.tokens = R"({"name": "tokens", "dtype": "i64", "shape": ["n", "len"]})";
  expectError(graph, Status::Rejected, {"/graphs/decoder/inputs/0", "'n'"});
  graph = {};
  graph.dims = R"({"n": {}, "len": {}})";
  expectError(graph, Status::Rejected, {"/graphs/decoder/inputs/0", "'rows'"});
  graph.dims = R"({"n": {}, "len": {}, "rows": {"max": 8}})";
  expectError(graph, Status::Rejected,
              {"/graphs/decoder/inputs/0", "without a 'max'"});
  for (const char *name : {"rows1", "keys", "wanted", "target", "returned"}) {
    graph.dims =
        R"({"n": {}, "len": {}, "rows": {}, ")" + std::string(name) + "\": {}}";
    expectError(graph, Status::Rejected,
                {"'" + std::string(name) + "' is reserved"});
  }
}

TEST(GraphSourceErrors, a_cycle_through_cross_attention) {
  EncoderDecoderGraph graph;
  graph.self = R"({"name": "own", "op": "add", "inputs": ["x", "read"]})";
  expectError(graph, Status::Rejected, {"cycle: ", "own", "read"});
}

} // namespace
