// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The golden decoders: results through `step`, evaluated in float64 after
// import and after each graph and kernel pass, in one call and in chunks,
// against results from Hugging Face's code in float64.
#include "compiler/import/Import.h"
#include "compiler/pipeline/Register.h"
#include "runtime/json/Json.h"
#include "test/compiler/evaluator/Compare.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// The original's rope angles are f32, its results are stored in f32.
constexpr double asTheOriginal = 2e-5;
/// Graph passes may reorder float64 sums; kern constants are f32.
constexpr double reordered = 1e-11, inKern = 1e-5;

/// Sequences with new rows; requests the rows `logitTokens`.
Case makeStep(const std::vector<int64_t> &tokens,
              std::vector<SequenceRows> sequences,
              const std::vector<int64_t> &logitTokens) {
  Case step;
  step.entry = "step";
  step.inputs = {
      {"tokens", Tensor::of({static_cast<int64_t>(tokens.size())}, tokens)},
      {"wanted",
       Tensor::of({static_cast<int64_t>(logitTokens.size())}, logitTokens)}};
  step.sequences = std::move(sequences);
  return step;
}

std::vector<int64_t> countTo(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Converts a file case to one step: masked tokens are omitted, and a result
/// without a length belongs to each sequence's last token.
Case makeStep(const std::string &input, const std::string &expect) {
  // Read ids, mask and the expected result.
  std::vector<NamedTensor> inputs = readTensors(input);
  NamedTensor result = readTensors(expect)[0];
  Tensor ids, mask;
  for (const NamedTensor &tensor : inputs)
    (tensor.name == "input_ids" ? ids : mask) = tensor.tensor;
  int64_t length = ids.sizes[1], width = result.tensor.sizes.back();
  bool eachToken = result.tensor.rank() == 3;
  // Collect unmasked tokens by sequence, and the result rows for requested
  // tokens.
  std::vector<int64_t> tokens, logitTokens;
  std::vector<SequenceRows> sequences;
  std::vector<Number> kept;
  for (int64_t i = 0; i < ids.count(); ++i) {
    if (i % length == 0)
      sequences.push_back({i / length, 0, 0});
    if (mask.rank() == 2 && mask.whole[i] == 0)
      continue;
    tokens.push_back(ids.whole[i]);
    if (sequences.back().rows++ > 0 && !eachToken)
      logitTokens.pop_back();
    logitTokens.push_back(static_cast<int64_t>(tokens.size()) - 1);
    auto row = result.tensor.real.begin() + i * width;
    if (eachToken)
      kept.insert(kept.end(), row, row + width);
  }
  // The step's expected output has only those rows.
  Case step = makeStep(tokens, sequences, logitTokens);
  if (eachToken)
    result.tensor = Tensor::of(
        {static_cast<int64_t>(logitTokens.size()), width}, std::move(kept));
  step.outputs = {std::move(result)};
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
      auto text = [&](const char *key) {
        return std::string(*test.get(key)->asString());
      };
      if (text("entry") == "logits" || text("entry") == "encode")
        cases.push_back(makeStep(folder + "/" + text("input"),
                                 folder + "/" + text("expect")));
    }
    ASSERT_GE(cases.size(), 2u);
    chunked = cases.back().inputs[0].tensor.whole;
  }

  void checkChunks();
  void check(const char *dtype);

  std::string folder;
  MLIRContext context;
  ImportInfo info;
  OwningOpRef<ModuleOp> module;
  EvaluateOptions options;
  std::vector<Case> cases;
  std::vector<int64_t> chunked; ///< tokens in the chunked sequence
};

/// Runs a sequence in chunks, together with another one: all rows equal the
/// results from one call.
void DecoderGolden::checkChunks() {
  auto length = static_cast<int64_t>(chunked.size());
  auto all = evaluateCase(
      *module, makeStep(chunked, {{2, 0, length}}, countTo(length)), options);
  ASSERT_TRUE(all) << all.error().message;
  const Tensor &expected = (*all)[0].tensor;
  int64_t width = expected.sizes.back(), past = 0, count = length / 2;
  CacheStore store;
  options.caches = &store;
  for (; past < length; past += count, count = past == length / 2 ? 1 : 7) {
    count = std::min(count, length - past);
    std::vector<int64_t> tokens = {chunked[past / 2], chunked[past / 3]};
    tokens.insert(tokens.end(), chunked.begin() + past,
                  chunked.begin() + past + count);
    std::vector<int64_t> logitTokens = countTo(count + 2);
    auto got =
        evaluateCase(*module,
                     makeStep(tokens, {{5, 0, 2}, {2, past, count}},
                              {logitTokens.begin() + 2, logitTokens.end()}),
                     options);
    ASSERT_TRUE(got) << got.error().message;
    auto begin = expected.real.begin() + past * width;
    Tensor part = Tensor::of({count, width},
                             std::vector<Number>(begin, begin + count * width));
    EXPECT_EQ(getDifference(*got, {{(*all)[0].name, part}}, reordered), "")
        << "at " << past;
  }
  options.caches = nullptr;
}

/// The last case is the longest: it only runs after complete stages.
void DecoderGolden::check(const char *dtype) {
  for (Case &test : cases) {
    auto result = evaluateCase(*module, test, options);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(getDifference(*result, test.outputs, asTheOriginal), "");
    test.outputs = *result;
  }
  checkChunks();
  for (const char *attribute : {"transom.dtype", "transom.kv_dtype"})
    (*module)->setAttr(attribute, StringAttr::get(&context, dtype));
  Case last = cases.back();
  cases.pop_back();
  // Rounding differences have no bound, so the last case is exact there.
  PassVerifier verifier({options.source, "test"}, {toVerifyCase(last)});
  ASSERT_TRUE(verifier.start(*module));
  bool rounds = StringRef(dtype) == "bf16";
  for (Stage stage : {Stage::AttnOpt, Stage::Kern}) {
    double tolerance = stage == Stage::AttnOpt ? reordered : inKern;
    EXPECT_EQ(checkPasses(*module, stage, options, cases, tolerance), "");
    auto difference = verifier.check(*module, "all passes of a stage");
    EXPECT_FALSE(difference) << difference->str();
    if (!rounds || stage != Stage::Kern) {
      auto result = evaluateCase(*module, last, options);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(getDifference(*result, last.outputs, tolerance), "");
    }
    checkChunks();
  }
}

TEST_P(DecoderGolden, evaluatesAsTheOriginalAfterEachPass) { check("f32"); }

TEST_P(DecoderGolden, evaluatesAsTheOriginalInBf16) { check("bf16"); }

INSTANTIATE_TEST_SUITE_P(
    all, DecoderGolden,
    ::testing::Values("bloom-alibi", "bloom-six-heads", "gemma2", "gpt-neox",
                      "gpt-neox-serial", "gpt2", "gpt2-by-layer", "llama-bare",
                      "llama-classify", "llama-gqa", "llama-linear",
                      "llama-mqa", "llama-scaled", "llama-yarn",
                      "mistral-window", "opt", "opt-post-norm", "phi3", "qwen2",
                      "qwen2-tied", "qwen3"),
    [](const auto &info) {
      std::string name = info.param;
      for (char &c : name)
        c = llvm::isAlnum(c) ? c : '_';
      return name;
    });

} // namespace
