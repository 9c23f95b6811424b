// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imported models in the reference evaluator return the golden results: all
// families and heads, and the graph.json examples.
#include "runtime/json/Json.h"
#include "test/compiler/import/Numbers.h"
#include <algorithm>
#include <filesystem>

using namespace transom;
using namespace transom::testing;

namespace {

/// Imports the model in a folder and runs the cases in its cases.json, only for
/// the entry `entry` if it is set.
void expectCases(const std::string &folder, const std::string &entry = "") {
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
    if (!entry.empty() && text("entry") != entry)
      continue;
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

/// Returns the folders below test/goldens for a kind of model. A new folder is
/// found by its cases.json.
std::vector<std::string> findFolders(const std::vector<const char *> &roots,
                                     const char *kindName) {
  std::vector<std::string> folders;
  for (const char *root : roots)
    for (const auto &entry :
         std::filesystem::directory_iterator(sourceFolder() + "/" + root)) {
      const std::string name = entry.path().filename().string();
      Result<JsonDocument> cases =
          parseJsonFile((entry.path() / "cases.json").string());
      if (!cases || !cases->root().isObject())
        continue;
      std::optional<JsonValue> kind = cases->root().find("kind");
      if (kind && *kind->asString() == kindName)
        folders.push_back(root + ("/" + name));
    }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Encoders and the examples.
std::vector<std::string> getEncoders() {
  std::vector<std::string> folders =
      findFolders({"test/goldens", "test/goldens/heads"}, "encoder");
  for (const char *example :
       {"decomposed-attention", "transformer-encoder", "pre-norm"})
    folders.push_back(std::string("examples/") + example);
  return folders;
}

std::vector<std::string> getEncoderDecoders() {
  return findFolders({"test/goldens/encoder-decoders"}, "encoder-decoder");
}

std::string getTestName(const ::testing::TestParamInfo<std::string> &info) {
  std::string name = info.param.substr(info.param.rfind('/') + 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class ModelNumbers : public ::testing::TestWithParam<std::string> {};

TEST_P(ModelNumbers, match_the_golden_results) {
  expectCases(sourceFolder() + "/" + GetParam());
}

class EncoderDecoderNumbers : public ::testing::TestWithParam<std::string> {};

TEST_P(EncoderDecoderNumbers, of_encode_match_the_golden_results) {
  expectCases(sourceFolder() + "/" + GetParam(), "encode");
}

TEST(ModelFolders, are_found) {
  EXPECT_GE(getEncoders().size(), 25u);
  EXPECT_GE(getEncoderDecoders().size(), 15u);
}

INSTANTIATE_TEST_SUITE_P(all, ModelNumbers, ::testing::ValuesIn(getEncoders()),
                         getTestName);
INSTANTIATE_TEST_SUITE_P(all, EncoderDecoderNumbers,
                         ::testing::ValuesIn(getEncoderDecoders()),
                         getTestName);

} // namespace
