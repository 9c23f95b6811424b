// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What imported models compute in the reference evaluator is what the golden
// results say: all families and heads, and the examples of graph.json.
#include "runtime/json/Json.h"
#include "test/compiler/import/Numbers.h"
#include <algorithm>
#include <filesystem>

using namespace transom;
using namespace transom::testing;

namespace {

/// Imports the model of a folder and runs the cases of its cases.json.
void expectCases(const std::string &folder) {
  SCOPED_TRACE(folder);
  Imported model(folder);
  ASSERT_TRUE(model.module) << model.error.message;
  Result<JsonDocument> cases = parseJsonFile(folder + "/cases.json");
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_GT(cases->root().find("cases")->size(), 0u);
  for (JsonValue each : cases->root().find("cases")->elements()) {
    auto text = [&](const char *key) {
      return std::string(*each.find(key)->asString());
    };
    SCOPED_TRACE(text("input"));
    EvaluateOptions options;
    options.source = &model.info.files;
    Result<std::vector<NamedTensor>> results =
        evaluate(*model.module, text("entry"),
                 readTensors(folder, text("input")), options);
    ASSERT_TRUE(results) << results.error().message;
    for (const NamedTensor &expectedTensor :
         readTensors(folder, text("expect")))
      expectNear(expectedTensor, *results, 2e-6);
  }
}

/// The folders of encoders below test/goldens, and the examples. A new folder
/// is found by its cases.json.
std::vector<std::string> getFolders() {
  std::vector<std::string> folders = {"examples/decomposed-attention",
                                      "examples/transformer-encoder",
                                      "examples/pre-norm"};
  for (const char *root : {"test/goldens", "test/goldens/heads"})
    for (const auto &entry :
         std::filesystem::directory_iterator(sourceFolder() + "/" + root)) {
      const std::string name = entry.path().filename().string();
      Result<JsonDocument> cases =
          parseJsonFile((entry.path() / "cases.json").string());
      if (!cases || !cases->root().isObject())
        continue;
      std::optional<JsonValue> kind = cases->root().find("kind");
      if (kind && *kind->asString() == "encoder")
        folders.push_back(root + ("/" + name));
    }
  std::sort(folders.begin(), folders.end());
  return folders;
}

class ModelNumbers : public ::testing::TestWithParam<std::string> {};

TEST_P(ModelNumbers, match_the_golden_results) {
  expectCases(sourceFolder() + "/" + GetParam());
}

TEST(ModelFolders, are_found) { EXPECT_GE(getFolders().size(), 25u); }

INSTANTIATE_TEST_SUITE_P(all, ModelNumbers, ::testing::ValuesIn(getFolders()),
                         [](const auto &info) {
                           std::string name = info.param;
                           name = name.substr(name.rfind('/') + 1);
                           for (char &c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

} // namespace
