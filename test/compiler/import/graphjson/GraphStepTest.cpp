// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in graph.json: the effect of a cache on a graph, and each error.
#include "dialects/attn/Attn.h"
#include "test/compiler/import/Fixture.h"

using namespace transom;
using namespace transom::testing;

namespace {

const char *const oneCache =
    R"({"name": "kv", "heads": 2, "key": 4, "value": 4})";
const char *const attention =
    R"({"name": "mixed", "op": "attention", "inputs": ["x", "x", "x"],
        "attrs": {"heads": 2, "cache": "kv"}})";

/// The parts in a decoder graph; each may be replaced by an invalid one.
struct Parts {
  std::string entry = "";
  std::string dims = R"({"rows": {}})";
  std::string inputs = R"({"name": "ids", "dtype": "i64", "shape": ["rows"]})";
  std::string caches = oneCache;
  std::string nodes = attention; ///< after x, f32 [rows, 8]
  std::string outputs = "\"mixed\"";
  std::string blocks = "{}";

  std::string text() const {
    return R"({"transom": 1, "weights": ["w.safetensors"], )" + entry +
           "\"dims\": " + dims + ",\n \"inputs\": [" + inputs +
           "],\n \"blocks\": " + blocks + ",\n \"caches\": [" + caches +
           R"(],
 "nodes": [{"name": "x", "op": "embedding", "inputs": ["ids"], "attrs": {"table": "table"}},
           )" +
           nodes + "],\n \"outputs\": [" + outputs + "]}";
  }
};

/// A folder with a graph and a few tensors.
struct DecoderFolder : ModelFolder {
  explicit DecoderFolder(const std::string &graph) {
    writeTensors(
        {{"table", {8, 8}}, {"wide", {11, 8}}, {"places", {20, 8}}, {"g", {8}}},
        "w.safetensors");
    write("graph.json", graph);
  }
};

void expectGraphError(const Parts &parts, Status status,
                      const std::vector<std::string> &texts) {
  DecoderFolder folder(parts.text());
  expectError(folder.path, status, texts);
}

TEST(GraphDecoder, becomes_a_step) {
  DecoderFolder folder(Parts().text());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto step = result.module->lookupSymbol<mlir::func::FuncOp>("step");
  ASSERT_TRUE(step);
  EXPECT_EQ(step.getNumArguments(), 2u);
  EXPECT_EQ(
      step->getAttrOfType<mlir::IntegerAttr>("transom.vocabulary").getInt(), 8);
  EXPECT_FALSE(step->hasAttr("transom.context"));
  std::string text = result.text();
  EXPECT_EQ(
      getCount(text, "attn.cache @kv : !attn.cache<heads 2, key 4, value 4>"),
      1u);
  EXPECT_EQ(getCount(text, "head = \"causal_lm\""), 1u);
  EXPECT_EQ(getCount(text, "attn.name = \"logits\""), 1u);
}

TEST(GraphDecoder, an_entry_of_any_name_is_a_step) {
  Parts parts;
  parts.entry = "\"entry\": \"continue\", ";
  DecoderFolder folder(parts.text());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto entry = result.module->lookupSymbol<mlir::func::FuncOp>("continue");
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->hasAttr("transom.vocabulary"));
}

TEST(GraphDecoder, without_a_vocabulary_gives_hidden_states) {
  Parts parts;
  parts.nodes += R"(, {"name": "half", "op": "slice", "inputs": ["mixed"],
                      "attrs": {"axis": 1, "size": 4}})";
  parts.outputs = "\"half\"";
  DecoderFolder folder(parts.text());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  EXPECT_EQ(getCount(result.text(), "attn.name = \"last_hidden_state\""), 1u);
  EXPECT_EQ(getCount(result.text(), "head = \"none\""), 1u);
}

TEST(GraphDecoder, tables_of_positions_bound_the_context) {
  Parts parts;
  parts.nodes = R"({"name": "p", "op": "position", "inputs": ["ids"]},
    {"name": "y", "op": "embedding", "inputs": ["p"], "attrs": {"table": "places"}},
    {"name": "r", "op": "rotation", "inputs": ["p"], "attrs": {"width": 2, "positions": 30}},
    {"name": "z", "op": "rotary", "inputs": ["y", "r"], "attrs": {"heads": 2}},
    {"name": "mixed", "op": "attention", "inputs": ["z", "z", "x"],
     "attrs": {"heads": 2, "cache": "kv", "alibi": true}})";
  DecoderFolder folder(parts.text());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  auto step = result.module->lookupSymbol<mlir::func::FuncOp>("step");
  EXPECT_EQ(step->getAttrOfType<mlir::IntegerAttr>("transom.context").getInt(),
            20);
}

TEST(GraphDecoder, takes_wanted_rows_before_the_head) {
  Parts parts;
  parts.nodes +=
      R"(, {"name": "n", "op": "rms_norm", "inputs": ["mixed"], "attrs": {"gamma": "g"}},
    {"name": "head", "op": "linear", "inputs": ["n"], "attrs": {"weight": "wide"}})";
  parts.outputs = "\"head\"";
  DecoderFolder folder(parts.text());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  attn::GatherOp gather;
  result.module->walk([&](attn::GatherOp op) { gather = op; });
  ASSERT_TRUE(gather);
  EXPECT_TRUE(gather.getTable().getDefiningOp<attn::SdpaOp>());
}

TEST(GraphDecoder, each_repetition_of_a_block_has_its_cache) {
  Parts parts;
  parts.caches = "";
  parts.blocks = std::string(R"({"layer": {"inputs": ["x"], "caches": [)") +
                 oneCache + "], \"nodes\": [" + attention +
                 R"(], "outputs": ["mixed"]}})";
  parts.nodes = R"({"block": "layer", "repeat": 3, "inputs": ["x"]})";
  parts.outputs = "\"layer\"";
  DecoderFolder folder(parts.text());
  Imported result(folder.path);
  ASSERT_TRUE(result.module) << result.error.message;
  for (const char *name : {"@layer.0.kv", "@layer.1.kv", "@layer.2.kv"})
    EXPECT_EQ(getCount(result.text(), std::string("attn.cache ") + name + " :"),
              1u)
        << name;
}

//===--- Caches ----------------------------------------------------------===//

TEST(GraphDecoderErrors, caches) {
  Parts parts;
  parts.caches = R"({"name": "kv", "heads": 2, "key": 4})";
  expectGraphError(parts, Status::Rejected, {"'/caches/0'", "'value'"});
  parts.caches = R"({"name": "kv", "heads": 0, "key": 4, "value": 4})";
  expectGraphError(parts, Status::Rejected, {"'/caches/0/heads'"});
  parts.caches = R"({"name": "kv", "heads": 2, "key": 100000, "value": 4})";
  expectGraphError(parts, Status::Rejected, {"'/caches/0/key'", "65536"});
  parts.caches =
      R"({"name": "kv", "heads": 2, "key": 4, "value": 4, "windw": 3})";
  expectGraphError(parts, Status::Rejected, {"windw", "window"});
  parts.caches = std::string(oneCache) + ", " + oneCache;
  expectGraphError(parts, Status::Rejected, {"'/caches/1'", "used twice"});
  parts.caches = R"({"name": "other", "heads": 2, "key": 4, "value": 4})";
  expectGraphError(parts, Status::Rejected,
                   {"unknown cache 'kv'", "declares other"});
  parts.caches = std::string(oneCache) +
                 R"(, {"name": "more", "heads": 1, "key": 4, "value": 4})";
  expectGraphError(parts, Status::Rejected,
                   {"'/caches/1'", "uses the cache 'more'"});
}

TEST(GraphDecoderErrors, a_cache_that_does_not_fit) {
  Parts parts;
  parts.caches = R"({"name": "kv", "heads": 1, "key": 4, "value": 4})";
  expectGraphError(parts, Status::Rejected,
                   {"'heads' 1", "'kv_heads' is 2", "/attrs/cache"});
  parts.caches = R"({"name": "kv", "heads": 2, "key": 3, "value": 4})";
  expectGraphError(parts, Status::Rejected,
                   {"'key' 3", "key width of a head is 4"});
  parts = {};
  parts.nodes =
      R"({"name": "mixed", "op": "attention", "inputs": ["x", "x", "x"],
                    "attrs": {"heads": 3, "cache": "kv"}})";
  expectGraphError(parts, Status::Rejected, {"'heads' 3 must divide"});
  parts.nodes =
      R"({"name": "mixed", "op": "attention", "inputs": ["x", "x", "x"],
                    "attrs": {"heads": 2, "cache": "kv", "window": 5}})";
  expectGraphError(parts, Status::Rejected, {"'window' 0", "is 5"});
  parts.nodes =
      R"({"name": "mixed", "op": "attention", "inputs": ["x", "x", "x"],
                    "attrs": {"heads": 2, "cache": "kv", "causal": false}})";
  expectGraphError(parts, Status::Rejected, {"is causal"});
  parts.nodes =
      R"({"name": "mixed", "op": "attention", "inputs": ["x", "x", "x"],
                    "attrs": {"heads": 2, "cache": 3}})";
  expectGraphError(parts, Status::Rejected, {"/attrs/cache", "string"});
}

TEST(GraphDecoderErrors, one_attention_for_each_cache) {
  Parts parts;
  parts.nodes +=
      R"(, {"name": "again", "op": "attention", "inputs": ["x", "x", "x"],
                      "attrs": {"heads": 2, "cache": "kv"}})";
  expectGraphError(parts, Status::Rejected, {"used by two attentions"});
}

TEST(GraphDecoderErrors, a_cache_of_another_body) {
  Parts parts;
  parts.blocks = std::string(R"({"layer": {"inputs": ["x"], "nodes": [)") +
                 attention + R"(], "outputs": ["mixed"]}})";
  parts.nodes = R"({"block": "layer", "inputs": ["x"]})";
  parts.outputs = "\"layer\"";
  expectGraphError(parts, Status::Rejected,
                   {"unknown cache 'kv'", "declares none"});
}

//===--- The graph -------------------------------------------------------===//

TEST(GraphDecoderErrors, inputs) {
  Parts parts;
  parts.dims = R"({"batch": {}, "seq": {}})";
  parts.inputs =
      R"({"name": "ids", "dtype": "i64", "shape": ["batch", "seq"]})";
  expectGraphError(parts, Status::Rejected,
                   {"'/inputs/0'", "is a decoder", "[\"rows\"]"});
  parts = {};
  parts.inputs = R"({"name": "ids", "dtype": "i32", "shape": ["rows"]})";
  expectGraphError(parts, Status::Rejected, {"is a decoder", "i64"});
  parts.inputs =
      R"({"name": "ids", "dtype": "i64", "shape": ["rows"], "default": 0})";
  expectGraphError(parts, Status::Rejected, {"no 'default'"});
  parts = {};
  parts.inputs += R"(, {"name": "more", "dtype": "f32", "shape": ["rows", 8]})";
  expectGraphError(parts, Status::Rejected, {"'/inputs/1'", "one input"});
  parts = {};
  parts.dims = R"({"rows": {"max": 4}})";
  expectGraphError(parts, Status::Rejected, {"without a 'max'"});
  parts.dims = R"({"rows": {}, "keys": {}})";
  expectGraphError(parts, Status::Rejected, {"'keys' is reserved"});
  parts = {};
  parts.entry = "\"entry\": \"generate\", ";
  expectGraphError(parts, Status::Rejected, {"'generate'", "derived"});
}

TEST(GraphDecoderErrors, rows_without_caches_are_reserved) {
  DecoderFolder folder(
      R"({"transom": 1, "dims": {"rows": {}},
          "inputs": [{"name": "x", "dtype": "f32", "shape": ["rows", 8]}],
          "nodes": [{"name": "y", "op": "relu", "inputs": ["x"]}],
          "outputs": ["y"]})");
  expectError(folder.path, Status::Rejected, {"'rows' is reserved"});
}

TEST(GraphDecoderErrors, rows_are_not_mixed) {
  Parts parts;
  auto with = [&](const std::string &node) {
    parts.nodes = std::string(attention) + ", " + node;
    expectGraphError(parts, Status::Rejected, {"mixes rows of a decoder"});
  };
  with(
      R"({"name": "y", "op": "transpose", "inputs": ["mixed"], "attrs": {"permutation": [1, 0]}})");
  with(
      R"({"name": "y", "op": "matmul", "inputs": ["x", "x"], "attrs": {"transpose_b": true}})");
  with(
      R"({"name": "y", "op": "slice", "inputs": ["x"], "attrs": {"axis": 0, "size": 1}})");
  with(
      R"({"name": "y", "op": "concat", "inputs": ["x", "x"], "attrs": {"axis": 0}})");
  with(
      R"({"name": "y", "op": "reshape", "inputs": ["x"], "attrs": {"shape": ["8*rows"]}})");
  // A row gather would be [rows, 8], too.
  parts.nodes = std::string(attention) +
                R"(, {"name": "at", "op": "position", "inputs": ["ids"]},
           {"name": "y", "op": "gather", "inputs": ["x", "at"]})";
  expectGraphError(parts, Status::Unsupported, {"rows are not fixed"});
}

TEST(GraphDecoderErrors, outputs) {
  Parts parts;
  parts.outputs = R"("mixed", "x")";
  expectGraphError(parts, Status::Rejected, {"'/outputs/1'", "one output"});
  parts.nodes += R"(, {"name": "y", "op": "reshape", "inputs": ["mixed"],
                      "attrs": {"shape": ["rows", 2, 4]}})";
  parts.outputs = "\"y\"";
  expectGraphError(parts, Status::Rejected, {"f32 [rows, width]"});
}

TEST(GraphDecoderErrors, rotary_positions) {
  Parts parts;
  auto with = [&](const std::string &attrs,
                  const std::vector<std::string> &texts) {
    parts.nodes = R"({"name": "p", "op": "position", "inputs": ["ids"]},
      {"name": "r", "op": "rotation", "inputs": ["p"], "attrs": )" +
                  attrs + "}, " + attention;
    expectGraphError(parts, Status::Rejected, texts);
  };
  with(R"({"positions": 9})", {"needs 'width' or 'frequencies'"});
  with(R"({"positions": 9, "width": 3})", {"even 'width'"});
  with(R"({"positions": 9, "width": 4, "theta": 0})", {"'theta' above 0"});
  with(R"({"positions": 9, "frequencies": []})", {"1 to 65536"});
  with(R"({"positions": 9, "frequencies": [1, "x"]})",
       {"/attrs/frequencies/1"});
  with(R"({"positions": 0, "width": 4})", {"/attrs/positions"});
  with(R"({"width": 4})", {"needs the attribute 'positions'"});
  with(R"({"positions": 9, "widht": 4})", {"widht", "width"});
}

} // namespace
