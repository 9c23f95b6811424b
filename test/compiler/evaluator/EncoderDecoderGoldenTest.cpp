// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The golden encoder-decoders: logits through `encode`, `source` and `step`,
// evaluated in float64 after import and after each pass, against results from
// Hugging Face's code in float64.
#include "compiler/import/Import.h"
#include "compiler/pipeline/Register.h"
#include "runtime/json/Json.h"
#include "test/compiler/evaluator/Compare.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// The original uses f32 for positions and results, and for norms and softmaxes
/// in T5.
constexpr double asTheOriginal = 2e-5;
/// Graph passes may reorder float64 sums; kern constants are f32.
constexpr double reordered = 1e-11, inKern = 1e-5;

const Tensor &getTensor(llvm::ArrayRef<NamedTensor> tensors, StringRef name) {
  const NamedTensor *found =
      llvm::find_if(tensors, [&](const auto &t) { return t.name == name; });
  EXPECT_NE(found, tensors.end()) << name.str();
  return found->tensor;
}

/// A step with complete targets. It requests all tokens or the last token for
/// each.
Case makeStep(const std::vector<std::vector<int64_t>> &targets, bool lastOnly,
              const Tensor &logits) {
  std::vector<int64_t> tokens, asked;
  Case step;
  for (auto [i, target] : llvm::enumerate(targets)) {
    auto length = static_cast<int64_t>(target.size());
    for (int64_t token : target) {
      asked.push_back(static_cast<int64_t>(tokens.size()));
      tokens.push_back(token);
    }
    if (lastOnly)
      asked.erase(asked.end() - length, asked.end() - 1);
    step.sequences.push_back({static_cast<int64_t>(i), 0, length});
  }
  auto rows = static_cast<int64_t>(tokens.size()),
       numLogits = static_cast<int64_t>(asked.size());
  step.entry = "step";
  step.inputs = {{"tokens", Tensor::of({rows}, std::move(tokens))},
                 {"wanted", Tensor::of({numLogits}, std::move(asked))}};
  step.outputs = {
      {"logits", Tensor::of({numLogits, logits.sizes.back()}, logits.real)}};
  return step;
}

/// Returns the rows in an id matrix, without masked ids.
std::vector<std::vector<int64_t>> getRows(const Tensor &ids,
                                          const Tensor *mask) {
  std::vector<std::vector<int64_t>> rows(ids.sizes[0]);
  for (int64_t i = 0; i < ids.count(); ++i)
    if (!mask || mask->whole[i])
      rows[i / ids.sizes[1]].push_back(ids.whole[i]);
  return rows;
}

class EncoderDecoderGolden : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    // Import the model.
    folder = sourceFolder() + "/" + GetParam();
    if (!fileExists(folder + "/cases.json"))
      folder = sourceFolder() + "/test/goldens/encoder-decoders/" + GetParam();
    DialectRegistry registry;
    registerTransomDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    ImportOptions importOptions{folder};
    auto imported = importModel(context, importOptions, info);
    ASSERT_TRUE(imported) << imported.error().message;
    module = std::move(*imported);
    options.source = &info.files;
    options.caches = &store;
    // Convert the cases in cases.json to calls.
    auto file = parseJsonFile(folder + "/cases.json");
    ASSERT_TRUE(file) << file.error().message;
    bool classifies =
        *file->root().get("kind")->asString() == "encoder-decoder classifier";
    for (JsonValue test : file->root().get("cases")->elements()) {
      auto path = [&](const char *key) {
        return folder + "/" + std::string(*test.get(key)->asString());
      };
      if (*test.get("entry")->asString() == (classifies ? "encode" : "logits"))
        addCases(readTensors(path("input")),
                 getTensor(readTensors(path("expect")), "logits"), classifies);
    }
    ASSERT_GE(cases.size(), 6u);
  }

  void addCases(const std::vector<NamedTensor> &inputs, const Tensor &logits,
                bool classifies);

  std::string folder;
  MLIRContext context;
  ImportInfo info;
  OwningOpRef<ModuleOp> module;
  CacheStore store;
  EvaluateOptions options;
  std::vector<Case> cases; ///< per batch: encoder, `source`, `step`
};

/// Converts a file case to three calls. The sources get the encoder's current
/// states, and all target tokens are one step. A classifier's target is its
/// source after the start token, without the last token.
void EncoderDecoderGolden::addCases(const std::vector<NamedTensor> &inputs,
                                    const Tensor &logits, bool classifies) {
  const Tensor &ids = getTensor(inputs, "input_ids");
  const Tensor &mask = getTensor(inputs, "attention_mask");
  Case encode;
  encode.entry = classifies ? "encoder" : "encode";
  encode.inputs = {{"input_ids", ids}, {"attention_mask", mask}};
  auto states = evaluateCase(*module, encode, options);
  ASSERT_TRUE(states) << states.error().message;
  encode.outputs = *states;

  Case source;
  source.entry = "source";
  source.inputs = {{"encoder_hidden_states", states->front().tensor},
                   {"attention_mask", mask}};

  std::vector<std::vector<int64_t>> targets;
  if (classifies) {
    constexpr int64_t start = 2;
    targets = getRows(ids, &mask);
    for (std::vector<int64_t> &target : targets) {
      target.insert(target.begin(), start);
      target.pop_back();
    }
  } else {
    targets = getRows(getTensor(inputs, "decoder_input_ids"), nullptr);
  }
  llvm::append_values(cases, encode, source,
                      makeStep(targets, classifies, logits));
}

TEST_P(EncoderDecoderGolden, evaluatesAsTheOriginalAfterEachPass) {
  // As imported. From here on the expected results are the module's.
  for (Case &test : cases) {
    auto result = evaluateCase(*module, test, options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(getDifference(*result, test.outputs, asTheOriginal), "");
    test.outputs = *result;
  }
  EXPECT_EQ(checkPasses(*module, Stage::AttnOpt, options, cases, reordered),
            "");
  EXPECT_EQ(checkPasses(*module, Stage::Kern, options, cases, inKern), "");
}

/// Each token in the first source's target as a separate step.
TEST_P(EncoderDecoderGolden, stepsOfOneTokenGiveTheSame) {
  const Case &step = cases.back(), &source = cases[cases.size() - 2];
  ASSERT_TRUE(evaluateCase(*module, source, options));
  auto all = evaluateCase(*module, step, options);
  ASSERT_TRUE(all) << all.error().message;
  int64_t first = step.inputs[1].tensor.whole[0], width = 0;
  for (int64_t i = 0; i < step.sequences[0].rows; ++i) {
    std::vector<int64_t> token = {step.inputs[0].tensor.whole[i]}, asked = {0};
    Case one;
    one.entry = "step";
    one.inputs = {{"tokens", Tensor::of({1}, token)},
                  {"wanted", Tensor::of({1}, asked)}};
    one.sequences = {{0, i, 1}};
    auto result = evaluateCase(*module, one, options);
    ASSERT_TRUE(result) << result.error().message;
    if (i < first)
      continue;
    width = result->front().tensor.sizes[1];
    auto begin = all->front().tensor.real.begin() + (i - first) * width;
    Tensor row =
        Tensor::of({1, width}, std::vector<Number>(begin, begin + width));
    EXPECT_EQ(getDifference(*result, {{"logits", row}}, reordered), "")
        << "at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, EncoderDecoderGolden,
    ::testing::Values("bart", "bart-classify", "bart-scaled", "blenderbot",
                      "m2m", "m2m-odd", "marian", "marian-two-vocabularies",
                      "mbart", "mt5", "mt5-v4-untied", "pegasus", "t5",
                      "t5-gated-untied", "t5-gated-v4-untied", "t5-v4",
                      "examples/transformer"),
    [](const auto &info) {
      std::string name = info.param;
      for (char &c : name)
        c = llvm::isAlnum(c) ? c : '_';
      return name;
    });

} // namespace
