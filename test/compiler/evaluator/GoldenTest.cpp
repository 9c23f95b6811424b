// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The golden models, evaluated in float64 after import and after each graph and
// kernel pass, against results from Hugging Face's code in float64.
#include "compiler/import/Import.h"
#include "compiler/pipeline/Register.h"
#include "runtime/json/Json.h"
#include "test/compiler/evaluator/Compare.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// The expected results are stored rounded to f32.
constexpr double roundedToF32 = 1e-7;
/// Graph passes may reorder float64 sums; kern constants are f32.
constexpr double reordered = 1e-11, inKern = 1e-6;

std::vector<Case> getCases(const std::string &folder) {
  std::vector<Case> cases;
  auto file = parseJsonFile(folder + "/cases.json");
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  if (!file)
    return cases;
  for (JsonValue test : file->root().get("cases")->elements()) {
    auto text = [&](const char *key) {
      return std::string(*test.get(key)->asString());
    };
    cases.push_back({text("entry"), readTensors(folder + "/" + text("input")),
                     readTensors(folder + "/" + text("expect"))});
  }
  return cases;
}

class Golden : public ::testing::TestWithParam<const char *> {
protected:
  static void check(const char *dtype);
};

void Golden::check(const char *dtype) {
  std::string folder = sourceFolder() + "/test/goldens/" + GetParam();
  MLIRContext context;
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  ImportInfo info;
  auto module = importModel(context, {folder}, info);
  ASSERT_TRUE(module) << module.error().message;
  EvaluateOptions options;
  options.source = &info.files;
  std::vector<Case> cases = getCases(folder);
  ASSERT_FALSE(cases.empty());
  for (Case &test : cases) {
    auto result = evaluate(**module, test.entry, test.inputs, options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(getDifference(*result, test.outputs, roundedToF32), "");
    test.outputs = *result;
  }
  (**module)->setAttr("transom.dtype", StringAttr::get(&context, dtype));
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    EXPECT_EQ(checkPasses(**module, stage, options, cases,
                          stage == Stage::AttnOpt ? reordered : inKern),
              "");
}

TEST_P(Golden, evaluatesAsTheOriginalAfterEachPass) { check("f32"); }

TEST_P(Golden, evaluatesAsTheOriginalInBf16) { check("bf16"); }

INSTANTIATE_TEST_SUITE_P(
    all, Golden,
    ::testing::Values("bert", "bert-mlm", "bert-classify", "bert-tokens",
                      "distilbert", "roberta", "heads/bert-next-sentence",
                      "heads/bert-old-names", "heads/bert-pretraining",
                      "heads/distilbert-classify", "heads/distilbert-mlm",
                      "heads/distilbert-tokens", "heads/roberta-classify",
                      "heads/roberta-mlm", "heads/xlm-roberta-tokens",
                      "heads/albert-classify", "heads/gte-new-mlm",
                      "heads/jina-v2-code", "heads/bert-questions"),
    [](const auto &info) {
      std::string name = info.param;
      for (char &c : name)
        c = llvm::isAlnum(c) ? c : '_';
      return name;
    });

} // namespace
