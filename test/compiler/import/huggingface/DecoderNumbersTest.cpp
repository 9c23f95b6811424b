// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Imported decoders in the reference evaluator return the golden results, for
// any split into steps.
#include "runtime/json/Json.h"
#include "test/compiler/import/Numbers.h"
#include <numeric>

using namespace transom;
using namespace transom::testing;

namespace {

/// Frequencies in transformers are rounded to f32, ours are not.
constexpr double roundedFrequencies = 2e-5;

/// Token rows without their padding.
using Rows = std::vector<std::vector<int64_t>>;

Rows getNumRows(const std::vector<NamedTensor> &inputs) {
  const Tensor *ids = nullptr, *mask = nullptr;
  for (const NamedTensor &input : inputs)
    (input.name == "input_ids" ? ids : mask) = &input.tensor;
  Rows rows(ids->sizes[0]);
  for (int64_t i = 0; i < ids->count(); ++i)
    if (!mask || mask->getReal(i) != 0)
      rows[i / ids->sizes[1]].push_back(static_cast<int64_t>(ids->number(i)));
  return rows;
}

/// One decoder and its sequences' pasts.
class Steps {
public:
  explicit Steps(const std::string &folder) : model(folder) {}

  /// Appends tokens to each sequence; returns the rows for `logitTokens`.
  Result<std::vector<NamedTensor>> step(const Rows &tokens,
                                        std::vector<int64_t> logitTokens) {
    EvaluateOptions options;
    options.source = &model.info.files;
    options.caches = &caches;
    std::vector<int64_t> all;
    lengths.resize(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      all.insert(all.end(), tokens[i].begin(), tokens[i].end());
      int64_t count = tokens[i].size();
      options.sequences.push_back({int64_t(i), lengths[i], count});
      lengths[i] += count;
    }
    Sizes rows = {int64_t(all.size())}, asked = {int64_t(logitTokens.size())};
    return evaluate(*model.module, "step",
                    {{"tokens", Tensor::of(rows, all)},
                     {"wanted", Tensor::of(asked, logitTokens)}},
                    options);
  }

  Imported model;

private:
  CacheStore caches;
  std::vector<int64_t> lengths;
};

/// Appends the rows in a result [num_logits, width] to `into`.
void append(const std::vector<NamedTensor> &results,
            std::vector<double> &into) {
  const Tensor &tensor = results.front().tensor;
  for (int64_t i = 0; i < tensor.count(); ++i)
    into.push_back(tensor.getReal(i));
}

/// Returns one sequence's results at each position, in chunks with the given
/// size.
void inChunks(const std::string &folder, const std::vector<int64_t> &tokens,
              size_t chunk, std::vector<double> &numbers) {
  Steps steps(folder);
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    size_t end = std::min(tokens.size(), at + chunk);
    std::vector<int64_t> logitTokens(end - at);
    std::iota(logitTokens.begin(), logitTokens.end(), 0);
    auto results =
        steps.step({{tokens.begin() + at, tokens.begin() + end}}, logitTokens);
    ASSERT_TRUE(results) << results.error().message;
    append(*results, numbers);
  }
}

/// Runs all rows in a batch together: every position in each, or the last.
void inOneBatch(const std::string &folder, const Rows &rows, bool lastOnly,
                std::vector<double> &numbers) {
  std::vector<int64_t> logitTokens;
  int64_t first = 0;
  for (const std::vector<int64_t> &row : rows) {
    int64_t end = first + int64_t(row.size());
    for (int64_t i = lastOnly ? end - 1 : first; i < end; ++i)
      logitTokens.push_back(i);
    first = end;
  }
  Steps steps(folder);
  auto results = steps.step(rows, logitTokens);
  ASSERT_TRUE(results) << results.error().message;
  append(*results, numbers);
}

void expectEqual(const std::vector<double> &expectedValues,
                 const std::vector<double> &found, double allowed) {
  ASSERT_EQ(expectedValues.size(), found.size());
  double worst = 0;
  for (size_t i = 0; i < expectedValues.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i])) << i;
    worst = std::max(worst, std::fabs(found[i] - expectedValues[i]));
  }
  EXPECT_LE(worst, allowed);
}

/// Returns the expected values for rows without padding.
std::vector<double> expectedNumbers(const Tensor &expected, const Rows &rows,
                                    bool lastOnly) {
  std::vector<double> numbers;
  int64_t width = expected.sizes.back();
  int64_t longest = lastOnly ? 1 : expected.sizes[1];
  for (size_t r = 0; r < rows.size(); ++r)
    for (int64_t i = 0; i < (lastOnly ? 1 : int64_t(rows[r].size())); ++i)
      for (int64_t c = 0; c < width; ++c)
        numbers.push_back(
            expected.getReal((int64_t(r) * longest + i) * width + c));
  return numbers;
}

class DecoderNumbers : public ::testing::TestWithParam<const char *> {};

TEST_P(DecoderNumbers, match_the_golden_results) {
  // Import the model without notes.
  const std::string folder = sourceFolder() + "/" + GetParam();
  Imported model(folder);
  ASSERT_TRUE(model.module) << model.error.message;
  EXPECT_EQ(model.info.notes, std::vector<std::string>{});
  EXPECT_EQ(model.info.unusedTensors, std::vector<std::string>{});
  Result<JsonDocument> cases = parseJsonFile(folder + "/cases.json");
  ASSERT_TRUE(cases) << cases.error().message;
  // Compare each case in one batch, and single sequences in chunks.
  size_t checked = 0;
  for (JsonValue each : cases->root().find("cases")->elements()) {
    auto text = [&](const char *key) {
      return std::string(*each.find(key)->asString());
    };
    if (text("entry") != "logits" && text("entry") != "encode")
      continue;
    SCOPED_TRACE(text("input"));
    Rows rows = getNumRows(readTensors(folder, text("input")));
    Tensor expected = readTensors(folder, text("expect")).front().tensor;
    bool lastOnly = expected.sizes.size() == 2;
    std::vector<double> expectedValues =
        expectedNumbers(expected, rows, lastOnly);
    std::vector<double> whole, chunks;
    inOneBatch(folder, rows, lastOnly, whole);
    expectEqual(expectedValues, whole, roundedFrequencies);
    if (rows.size() == 1 && !lastOnly) {
      inChunks(folder, rows[0], 7, chunks);
      expectEqual(whole, chunks, 1e-12);
    }
    ++checked;
  }
  EXPECT_GT(checked, 1u);
}

INSTANTIATE_TEST_SUITE_P(
    all, DecoderNumbers,
    ::testing::Values(
        "test/goldens/gpt2", "test/goldens/gpt2-by-layer",
        "test/goldens/llama-gqa", "test/goldens/llama-mqa",
        "test/goldens/llama-scaled", "test/goldens/llama-yarn",
        "test/goldens/llama-linear", "test/goldens/llama-classify",
        "test/goldens/llama-bare", "test/goldens/mistral-window",
        "test/goldens/qwen2", "test/goldens/qwen2-tied", "test/goldens/qwen3",
        "test/goldens/phi3", "test/goldens/gemma", "test/goldens/gemma2",
        "test/goldens/gpt-neox", "test/goldens/gpt-neox-serial",
        "test/goldens/opt", "test/goldens/opt-post-norm",
        "test/goldens/bloom-alibi", "test/goldens/bloom-six-heads",
        "test/goldens/cohere", "test/goldens/falcon",
        "test/goldens/falcon-alibi", "test/goldens/falcon-multi-query",
        "test/goldens/gemma3", "test/goldens/granite", "test/goldens/olmo2",
        "test/goldens/phi", "test/goldens/smollm3", "test/goldens/stablelm",
        "test/goldens/starcoder2", "examples/decoder"),
    [](const auto &info) {
      std::string name = info.param;
      name = name.substr(name.rfind('/') + 1);
      for (char &c : name)
        c = c == '-' ? '_' : c;
      return name;
    });

} // namespace
