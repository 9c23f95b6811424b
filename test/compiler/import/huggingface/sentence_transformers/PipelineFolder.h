// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folders with a modules.json and the module configs.
#pragma once
#include "compiler/import/huggingface/sentence_transformers/PipelineConfig.h"
#include "test/compiler/import/Fixture.h"

namespace transom::testing {

/// Writes sentence-transformers files.
class PipelineFolder : public ModelFolder {
public:
  /// Writes modules.json with modules that have these sentence-transformers
  /// classes, each but the first in the folder `mN`.
  void writeModules(const std::vector<std::string> &types) const {
    std::string text;
    for (size_t i = 0; i != types.size(); ++i) {
      const std::string folder = i ? "m" + std::to_string(i) : "";
      const bool isWhole = types[i].find('.') != std::string::npos;
      text += (i ? "," : "") + std::string(R"({"type": ")") +
              (isWhole ? "" : "sentence_transformers.models.") + types[i] +
              R"(", "path": ")" + folder + R"("})";
      std::filesystem::create_directories(path + "/" + folder);
    }
    write("modules.json", "[" + text + "]");
  }
  Result<std::optional<PipelineConfig>> read() const {
    return readPipelineConfig(path);
  }
  /// Why embeddings are refused; empty if they are not.
  std::string getRefusal() const {
    auto found = read();
    EXPECT_TRUE(found) << found.error().message;
    return found && *found ? (*found)->refusal : "";
  }
  std::string getError() const {
    auto found = read();
    EXPECT_FALSE(found);
    if (found)
      return "";
    EXPECT_EQ(int(found.error().status), int(Status::Rejected));
    return found.error().message.substr(path.size() + 1);
  }
};

} // namespace transom::testing
