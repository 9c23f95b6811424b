// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random decoders and encoder-decoders have the same results before and after
// each pass, in one call and in chunks, for any set of disabled passes.
#include "test/e2e/random/DecoderModel.h"
#include "test/e2e/random/GraphCheck.h"
#include "test/e2e/random/Seeds.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Graph passes may reorder float64 sums; kern constants are f32.
constexpr double reordered = 1e-10, inKern = 1e-5;

/// Max tokens per sequence that are checked after each pass. One model in ten
/// has longer sequences; those above the second limit are only checked after
/// all passes in a stage.
constexpr size_t longest = 12, longestOfTenth = 40;

/// Evaluates a step after the sources that it reads.
Result<std::vector<NamedTensor>> evaluateAfter(ArrayRef<Case> sources,
                                               const Case &step,
                                               DecoderModel &model,
                                               const EvaluateOptions &options) {
  for (const Case &source : sources)
    TRANSOM_TRY(evaluateCase(*model.module, source, options));
  return evaluateCase(*model.module, step, options);
}

/// The sequences return the same results in random chunks as in one step.
std::string checkChunks(DecoderModel &model, ArrayRef<Case> sources) {
  // One step with the complete sequences is the reference.
  CacheStore store;
  EvaluateOptions options = model.options;
  options.caches = &store;
  Case all = makeWholeStep(model.sequences);
  auto expected = evaluateAfter(sources, all, model, options);
  if (!expected)
    return expected.error().message;
  const Tensor &logits = (*expected)[0].tensor;
  std::vector<int64_t> lengths(model.sequences.size());
  // Run random chunks and compare the logits in each with the reference rows.
  while (!isDone(model.sequences, lengths)) {
    std::vector<SequenceRows> rows =
        drawRows(model.random, model.sequences, lengths);
    Tokens tokens;
    std::vector<Number> values;
    for (const SequenceRows &row : rows) {
      const Tokens &sequence = model.sequences[row.sequence];
      tokens.insert(tokens.end(), sequence.begin() + row.past,
                    sequence.begin() + row.past + row.rows);
      int64_t first = row.past;
      for (int64_t s = 0; s < row.sequence; ++s)
        first += all.sequences[s].rows;
      auto begin = logits.real.begin() + first * model.vocabulary;
      values.insert(values.end(), begin, begin + row.rows * model.vocabulary);
      lengths[row.sequence] += row.rows;
    }
    if (rows.empty())
      continue;
    auto got = evaluateCase(*model.module, makeStep(tokens, rows), options);
    if (!got)
      return got.error().message;
    Tensor expected = Tensor::of(
        {static_cast<int64_t>(tokens.size()), model.vocabulary}, values);
    std::string difference =
        getDifference(*got, {{"logits", expected}}, reordered);
    if (!difference.empty())
      return "in chunks: " + difference;
  }
  return {};
}

/// Evaluates cases sequentially and stores their results as expected outputs.
Result<void> takeOutputs(DecoderModel &model, MutableArrayRef<Case> cases) {
  for (Case &test : cases) {
    TRANSOM_ASSIGN(test.outputs,
                   evaluateCase(*model.module, test, model.options));
  }
  return {};
}

/// Returns the first error in one stage. `all` is a step with the complete
/// sequences, where these are longer than in `cases`.
std::string checkStage(DecoderModel &model, Stage stage, ArrayRef<Case> cases,
                       const Case *all, const std::set<std::string> &disabled) {
  const double tolerance = stage == Stage::AttnOpt ? reordered : inKern;
  std::string complaint = checkPasses(*model.module, stage, model.options,
                                      cases, tolerance, disabled);
  // Rounding differences have no bound.
  if (complaint.empty() && all &&
      (stage == Stage::AttnOpt || !model.rounds())) {
    auto result = evaluateAfter(cases.drop_back(), *all, model, model.options);
    complaint = result ? getDifference(*result, all->outputs, tolerance)
                       : result.error().message;
  }
  return complaint.empty() ? checkChunks(model, cases.drop_back()) : complaint;
}

/// Returns the first error for one seed.
std::string check(uint64_t seed, DecoderKind kind) {
  DecoderModel model(seed, kind);
  CacheStore store;
  model.options.caches = &store;
  const bool isLong = seed % 10 == 0;
  // Only the sequence starts are checked after each pass.
  std::vector<Tokens> starts = model.sequences;
  for (Tokens &tokens : starts)
    tokens.resize(std::min(tokens.size(), isLong ? longestOfTenth : longest));
  std::vector<Case> cases;
  if (kind == DecoderKind::EncoderDecoder)
    cases = makeSources(model);
  cases.push_back(makeWholeStep(starts));
  if (auto taken = takeOutputs(model, cases); !taken)
    return taken.error().message;
  // Long sequences are checked after complete stages.
  Case all = makeWholeStep(model.sequences);
  if (!isLong)
    model.sequences = starts;
  else if (auto taken = takeOutputs(model, all); !taken)
    return taken.error().message;
  // Run both stages with some passes disabled.
  Random random(seed ^ 0x5eed);
  const std::set<std::string> disabled = drawDisabledPasses(random);
  model.setTypes(*model.module);
  for (Stage stage : {Stage::AttnOpt, Stage::Kern}) {
    std::string complaint =
        checkStage(model, stage, cases, isLong ? &all : nullptr, disabled);
    if (!complaint.empty())
      return complaint;
  }
  return {};
}

class RandomDecoders : public ::testing::TestWithParam<Seeds> {};

TEST_P(RandomDecoders, meanTheSameAfterEachPass) {
  for (int64_t seed = GetParam().first; seed < GetParam().end; ++seed)
    EXPECT_EQ(check(seed, DecoderKind::Decoder), "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(From, RandomDecoders,
                         ::testing::ValuesIn(groupSeeds(300, 20)),
                         nameByFirstSeed);

class RandomEncoderDecoders : public ::testing::TestWithParam<Seeds> {};

TEST_P(RandomEncoderDecoders, meanTheSameAfterEachPass) {
  for (int64_t seed = GetParam().first; seed < GetParam().end; ++seed)
    EXPECT_EQ(check(seed, DecoderKind::EncoderDecoder), "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(From, RandomEncoderDecoders,
                         ::testing::ValuesIn(groupSeeds(300, 20)),
                         nameByFirstSeed);

} // namespace
