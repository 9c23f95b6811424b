// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The golden decoders: logits through `step`, evaluated in float64 after import
// and after each graph and kernel pass, in one call and in chunks, against what
// Hugging Face's code computed in float64.
#include "compiler/import/Import.h"
#include "compiler/pipeline/Register.h"
#include "runtime/support/Json.h"
#include "test/unit/evaluator/Compare.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// The original's rotary angles are f32, its results are stored in f32.
constexpr double asTheOriginal = 2e-5;
/// Graph passes may reorder sums of float64; constants of kern are f32.
constexpr double reordered = 1e-11, inKern = 1e-5;
/// Calls that together do the same as one.
constexpr double inChunks = 1e-12;

std::vector<int64_t> countTo(int64_t count) {
  std::vector<int64_t> numbers(count);
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = i;
  return numbers;
}

/// A step that asks for all rows of these sequences.
Case stepOf(const std::vector<int64_t> &tokens,
            std::vector<SequenceRows> sequences) {
  auto rows = static_cast<int64_t>(tokens.size());
  Case step;
  step.entry = "step";
  step.inputs = {{"tokens", Tensor::of({rows}, tokens)},
                 {"wanted", Tensor::of({rows}, countTo(rows))}};
  step.sequences = std::move(sequences);
  return step;
}

/// Logits `[batch, seq, n]` of a file as a step of `batch` new sequences.
Case stepOf(const std::string &input, const std::string &output) {
  Tensor ids = readTensors(input)[0].tensor;
  Tensor logits = readTensors(output)[0].tensor;
  std::vector<SequenceRows> sequences;
  for (int64_t i = 0; i < ids.sizes[0]; ++i)
    sequences.push_back({i, 0, ids.sizes[1]});
  Case step = stepOf(ids.whole, sequences);
  logits.sizes = {ids.count(), logits.sizes.back()};
  step.outputs = {{"logits", logits}};
  return step;
}

class DecoderGolden : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    folder = sourceFolder() + "/test/goldens/" + GetParam();
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    auto imported = importModel(context, {folder}, info);
    ASSERT_TRUE(imported) << imported.error().message;
    module = std::move(*imported);
    options.source = &info.files;
    auto file = parseJsonFile(folder + "/cases.json");
    ASSERT_TRUE(file) << file.error().message;
    for (JsonValue test : file->root().get("cases")->elements()) {
      auto path = [&](const char *key) {
        return folder + "/" + std::string(*test.get(key)->asString());
      };
      if (*test.get("entry")->asString() == "logits")
        cases.push_back(stepOf(path("input"), path("expect")));
    }
    ASSERT_EQ(cases.size(), 3u);
  }

  void checkChunks(double tolerance);

  std::string folder;
  MLIRContext context;
  ImportInfo info;
  OwningOpRef<ModuleOp> module;
  EvaluateOptions options;
  std::vector<Case> cases;
};

/// The long case in chunks with another sequence beside it: the same logits.
void DecoderGolden::checkChunks(double tolerance) {
  const Tensor &tokens = cases.back().inputs[0].tensor;
  const Tensor &expected = cases.back().outputs[0].tensor;
  int64_t width = expected.sizes.back(), past = 0;
  CacheStore store;
  options.caches = &store;
  for (int64_t count : {70, 1, 1, 30, 48}) {
    std::vector<int64_t> rows = {tokens.whole[past / 2]};
    rows.insert(rows.end(), tokens.whole.begin() + past,
                tokens.whole.begin() + past + count);
    auto got = evaluateCase(
        *module, stepOf(rows, {{5, 0, 1}, {2, past, count}}), options);
    ASSERT_TRUE(got) << got.error().message;
    Tensor part = Tensor::floats({count + 1, width});
    std::copy_n((*got)[0].tensor.real.begin(), width, part.real.begin());
    std::copy_n(expected.real.begin() + past * width, count * width,
                part.real.begin() + width);
    EXPECT_EQ(differenceOf(*got, {{"logits", part}}, tolerance), "")
        << "at " << past;
    past += count;
  }
  ASSERT_EQ(past, tokens.count());
  options.caches = nullptr;
}

TEST_P(DecoderGolden, evaluatesAsTheOriginalAfterEachPass) {
  for (Case &test : cases) {
    auto result = evaluateCase(*module, test, options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(differenceOf(*result, test.outputs, asTheOriginal), "");
    test.outputs = *result;
  }
  checkChunks(inChunks);
  EXPECT_EQ(checkPasses(*module, Stage::Graph, options, cases, reordered), "");
  checkChunks(reordered);
  EXPECT_EQ(checkPasses(*module, Stage::Kernel, options, cases, inKern), "");
  checkChunks(inKern);
}

INSTANTIATE_TEST_SUITE_P(all, DecoderGolden,
                         ::testing::Values("gpt2", "llama-gqa", "llama-mqa",
                                           "qwen2", "mistral-window",
                                           "bloom-alibi"),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = llvm::isAlnum(c) ? c : '_';
                           return name;
                         });

} // namespace
