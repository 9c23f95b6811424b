// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// graph.json strings for tests, and folders that also contain tensors.
#pragma once
#include "test/compiler/import/Fixture.h"

namespace transom::testing {

/// A graph with these parts; x is f32 [batch, seq, 8].
inline std::string graph(const std::string &nodes, const std::string &outputs,
                         const std::string &more = "") {
  return R"({"transom": 1, "dims": {"batch": {}, "seq": {"max": 16}},
 "inputs": [{"name": "x", "dtype": "f32", "shape": ["batch", "seq", 8]},
            {"name": "ids", "dtype": "i32", "shape": ["batch", "seq"]},
            {"name": "keep", "dtype": "bool", "shape": ["batch", "seq"],
             "mask_of": "ids"}],)" +
         more + "\n \"nodes\": [" + nodes + "],\n \"outputs\": [" + outputs +
         "]}";
}

inline void expectGraphError(const std::string &text, Status status,
                             const std::vector<std::string> &parts) {
  ModelFolder folder;
  folder.write("graph.json", text);
  expectError(folder.path, status, parts);
}

inline const char *const weightsKey = R"("weights": ["w.safetensors"],)";

/// Imports a graph next to a w.safetensors with a few tensors.
struct GraphWithWeights : ::testing::Test {
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

} // namespace transom::testing
