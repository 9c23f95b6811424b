// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A BERT folder with one layer and width 8, for tests that modify it.
#pragma once
#include "test/compiler/import/Fixture.h"

namespace transom::testing {

/// Shapes for a bare BERT with one layer and width 8.
inline Shapes tinyBert(const std::string &prefix = "") {
  Shapes shapes = {{"embeddings.word_embeddings.weight", {11, 8}},
                   {"embeddings.position_embeddings.weight", {6, 8}},
                   {"embeddings.token_type_embeddings.weight", {2, 8}}};
  auto linear = [&](const std::string &name, int64_t out, int64_t in) {
    shapes[name + ".weight"] = {out, in};
    shapes[name + ".bias"] = {out};
  };
  auto norm = [&](const std::string &name) {
    shapes[name + ".weight"] = shapes[name + ".bias"] = {8};
  };
  norm("embeddings.LayerNorm");
  const std::string layer = "encoder.layer.0.";
  for (const char *part : {"attention.self.query", "attention.self.key",
                           "attention.self.value", "attention.output.dense"})
    linear(layer + part, 8, 8);
  norm(layer + "attention.output.LayerNorm");
  linear(layer + "intermediate.dense", 12, 8);
  linear(layer + "output.dense", 8, 12);
  norm(layer + "output.LayerNorm");
  Shapes prefixed;
  for (const auto &[name, shape] : shapes)
    prefixed[prefix + name] = shape;
  return prefixed;
}

/// Its sizes in config.json.
inline const char *const tinyBertSizes =
    R"("vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1,
       "num_attention_heads": 2, "intermediate_size": 12,
       "max_position_embeddings": 6)";

/// A config for the tiny BERT; `more` keys are added, `instead` replaces the
/// sizes.
inline std::string tinyBertConfig(const std::string &more = "",
                                  const std::string &instead = tinyBertSizes) {
  return R"({"model_type": "bert", )" + instead +
         (more.empty() ? "" : ", " + more) + "}";
}

/// Returns `text` with the first `from` replaced.
inline std::string replaced(std::string text, const std::string &from,
                            const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Expects an error for the tiny BERT's tensors with this config.
inline void expectTinyBertError(const std::string &text, Status status,
                                const std::vector<std::string> &parts) {
  ModelFolder folder;
  folder.writeTensors(tinyBert());
  folder.write("config.json", text);
  std::vector<std::string> all = parts;
  all.push_back("config.json");
  expectError(folder.path, status, all);
}

/// Expects an error for the tiny BERT's config with these tensors.
inline void expectTinyBertTensorsError(const Shapes &shapes, Status status,
                                       const std::vector<std::string> &parts,
                                       DType dtype = DType::F32) {
  ModelFolder folder;
  folder.writeTensors(shapes, "model.safetensors", dtype);
  folder.write("config.json", tinyBertConfig());
  expectError(folder.path, status, parts);
}

} // namespace transom::testing
