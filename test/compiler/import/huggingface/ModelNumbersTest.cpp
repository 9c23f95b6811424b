// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What imported models compute in the reference evaluator is what the golden
// results say: all families and heads, and the examples of graph.json.
#include "runtime/json/Json.h"
#include "test/compiler/import/Numbers.h"

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
    for (const NamedTensor &wanted : readTensors(folder, text("expect")))
      expectNear(wanted, *results, 2e-6);
  }
}

class ModelNumbers : public ::testing::TestWithParam<const char *> {};

TEST_P(ModelNumbers, match_the_golden_results) {
  expectCases(sourceFolder() + "/" + GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    all, ModelNumbers,
    ::testing::Values(
        "test/goldens/bert", "test/goldens/bert-mlm",
        "test/goldens/bert-classify", "test/goldens/bert-tokens",
        "test/goldens/distilbert", "test/goldens/roberta",
        "test/goldens/electra", "test/goldens/electra-classify",
        "test/goldens/modernbert", "test/goldens/modernbert-mlm",
        "test/goldens/mpnet", "test/goldens/t5-encoder",
        "test/goldens/alibi-encoder", "test/goldens/heads/bert-next-sentence",
        "test/goldens/heads/bert-pretraining",
        "test/goldens/heads/bert-old-names", "test/goldens/heads/roberta-mlm",
        "test/goldens/heads/roberta-classify",
        "test/goldens/heads/xlm-roberta-tokens",
        "test/goldens/heads/distilbert-mlm",
        "test/goldens/heads/distilbert-classify",
        "test/goldens/heads/distilbert-tokens", "examples/decomposed-attention",
        "examples/transformer-encoder", "examples/pre-norm"),
    [](const auto &info) {
      std::string name = info.param;
      name = name.substr(name.rfind('/') + 1);
      for (char &c : name)
        c = c == '-' ? '_' : c;
      return name;
    });

} // namespace
