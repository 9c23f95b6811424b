// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imports a config without files, and inspects the module.
#pragma once
#include "dialects/attn/Attn.h"
#include "test/compiler/import/Fixture.h"

namespace transom::testing {

inline const char *const sizes =
    R"("vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 3,
       "num_attention_heads": 2, "intermediate_size": 12,
       "max_position_embeddings": 64)";

inline std::string config(const std::string &type, const std::string &more = "",
                          const std::string &instead = sizes) {
  return "{\"model_type\": \"" + type + "\", " + instead +
         (more.empty() ? "" : ", " + more) + "}";
}

/// Imports a config alone.
struct FromConfig : Imported {
  explicit FromConfig(const std::string &text)
      : Imported(write(text), /*configOnly=*/true) {}

  std::vector<attn::SdpaOp> attentions() {
    std::vector<attn::SdpaOp> found;
    module->walk([&](attn::SdpaOp op) { found.push_back(op); });
    return found;
  }
  std::vector<int64_t> windows() {
    std::vector<int64_t> found;
    for (attn::SdpaOp op : attentions())
      found.push_back(op.getWindow());
    return found;
  }
  std::optional<attn::RopeTableOp> ropeTable() {
    std::optional<attn::RopeTableOp> found;
    module->walk([&](attn::RopeTableOp op) { found = op; });
    return found;
  }
  std::optional<int64_t> context() {
    auto step = module->lookupSymbol<mlir::func::FuncOp>("step");
    auto context = step->getAttrOfType<mlir::IntegerAttr>("transom.context");
    return context ? std::optional<int64_t>(context.getInt()) : std::nullopt;
  }

private:
  std::string write(const std::string &text) {
    folder.write("config.json", text);
    return folder.path;
  }
  inline static ModelFolder folder;
};

inline void expectConfigError(const std::string &text, Status status,
                              const std::vector<std::string> &parts) {
  FromConfig result(text);
  EXPECT_FALSE(result.module) << "imported";
  EXPECT_EQ(int(result.error.status), int(status)) << result.error.message;
  EXPECT_EQ(result.error.message.find('\n'), std::string::npos);
  for (const std::string &part : parts)
    EXPECT_NE(result.error.message.find(part), std::string::npos)
        << "no \"" << part << "\" in: " << result.error.message;
}

} // namespace transom::testing
