// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json strings with an encoder and a decoder; each part may be replaced
// by an invalid one.
#pragma once
#include "test/compiler/import/Fixture.h"

namespace transom::testing {

struct EncoderDecoderGraph {
  std::string dims = R"({"n": {}, "len": {"max": 12}, "rows": {}})";
  std::string blocks = "{}";

  // The encoder: states are f32 [n, len, 6].
  std::string encoderEntry = "";
  std::string ids = R"({"name": "ids", "dtype": "i64", "shape": ["n", "len"]})";
  std::string mask =
      R"({"name": "mask", "dtype": "i64", "shape": ["n", "len"], "mask_of": "ids"})";
  std::string states =
      R"({"name": "seen", "op": "cast", "inputs": ["mask"], "attrs": {"to": "bool"}},
         {"name": "x", "op": "embedding", "inputs": ["ids"], "attrs": {"table": "sources"}},
         {"name": "y", "op": "attention", "inputs": ["x", "x", "x", "seen"], "attrs": {"heads": 2}})";
  std::string encoderOutputs = "\"y\"";

  // The decoder: x is f32 [rows, 8].
  std::string decoderEntry = "";
  std::string tokens =
      R"({"name": "tokens", "dtype": "i64", "shape": ["rows"]})";
  std::string caches = R"({"name": "kv", "heads": 2, "key": 4, "value": 4})";
  std::string self =
      R"({"name": "own", "op": "attention", "inputs": ["x", "x", "x"], "attrs": {"heads": 2, "cache": "kv"}})";
  std::string cross =
      R"({"name": "read", "op": "attention", "inputs": ["own"],
          "attrs": {"heads": 4, "kv_heads": 2, "cross": "encoder", "key_weight": "key", "value_weight": "value"}})";
  std::string head =
      R"({"name": "logits", "op": "linear", "inputs": ["read"], "attrs": {"weight": "head"}})";
  std::string decoderOutputs = "\"logits\"";

  /// Appended after the two graphs.
  std::string more = "";

  std::string text() const {
    return R"({"transom": 1, "weights": ["w.safetensors"], "dims": )" + dims +
           ",\n \"blocks\": " + blocks + ",\n \"graphs\": {\n  \"encoder\": {" +
           encoderEntry + "\"inputs\": [" + ids + (mask.empty() ? "" : ",\n") +
           mask + "],\n   \"nodes\": [" + states + "],\n   \"outputs\": [" +
           encoderOutputs + "]},\n  \"decoder\": {" + decoderEntry +
           "\"inputs\": [" + tokens + "], \"caches\": [" + caches + R"(],
   "nodes": [{"name": "x", "op": "embedding", "inputs": ["tokens"], "attrs": {"table": "targets"}},
    )" + self +
           ",\n    " + cross + ",\n    " + head + "],\n   \"outputs\": [" +
           decoderOutputs + "]}" + more + "}}";
  }
};

/// A folder with such a graph and its tensors: 9 source tokens, 7 target
/// tokens; keys with two heads of width 2, values with two heads of width 3.
struct EncoderDecoderFolder : ModelFolder {
  explicit EncoderDecoderFolder(const EncoderDecoderGraph &graph) {
    writeTensors({{"sources", {9, 6}},
                  {"targets", {7, 8}},
                  {"key", {4, 6}},
                  {"key_bias", {4}},
                  {"value", {6, 6}},
                  {"value_bias", {6}},
                  {"wide", {4, 8}},
                  {"head", {7, 12}},
                  {"other_head", {5, 12}},
                  {"g", {6}}},
                 "w.safetensors");
    write("graph.json", graph.text());
  }
};

inline void expectError(const EncoderDecoderGraph &graph, Status status,
                        const std::vector<std::string> &texts) {
  EncoderDecoderFolder folder(graph);
  expectError(folder.path, status, texts);
}

} // namespace transom::testing
