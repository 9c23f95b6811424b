// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Among the bugs that a check at a model's own widths finds, measures how many
// a check at smaller widths finds: each bug is planted in both models, after
// the same pass and at the same location.
#include "compiler/driver/CompileModule.h"
#include "compiler/import/Import.h"
#include "compiler/stages/ModuleText.h"
#include "compiler/verify/CutLayers.h"
#include "compiler/verify/ShrinkModule.h"
#include "test/e2e/random/Seeds.h"
#include "test/mutation/LimitedProcess.h"
#include "test/mutation/MutatedModel.h"
#include "test/mutation/Mutations.h"
#include "test/mutation/Tally.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>
#include <iostream>
#include <regex>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Golden models, one per layer kind.
constexpr const char *models[] = {"bert",
                                  "llama-gqa",
                                  "gemma2",
                                  "gpt2",
                                  "modernbert",
                                  "deberta-v2",
                                  "falcon",
                                  "phi",
                                  "jina-v2",
                                  "bloom-alibi",
                                  "gpt-neox",
                                  "encoder-decoders/t5",
                                  "mistral-window",
                                  "qwen3",
                                  "encoder-decoders/m2m",
                                  "falcon-multi-query"};

/// Bugs in one group, and bugs found at both widths, in percent of those found
/// at the model's widths.
constexpr int64_t mutantsOfGroup = 40;
constexpr double leastFound = 98;
constexpr const char *finders[] = {"both"};

/// A file's contents with some numeric keys multiplied.
std::string scaleConfig(std::string text, const std::string &keys,
                        int64_t factor) {
  const std::regex pattern("\"(" + keys + ")\": ([0-9]+)");
  std::string result;
  std::smatch match;
  while (std::regex_search(text, match, pattern)) {
    result += match.prefix().str() + "\"" + match[1].str() +
              "\": " + std::to_string(std::stoll(match[2].str()) * factor);
    text = match.suffix();
  }
  return result + text;
}

/// A golden model's config with realistic widths. Every second seed has more
/// heads, the others have wider ones.
std::string makeConfig(const std::string &name, uint64_t seed) {
  const char *source = std::getenv("TRANSOM_SOURCE_DIR");
  std::string text = test::readAll(std::string(source ? source : ".") +
                                   "/test/goldens/" + name + "/config.json");
  const bool hasManyHeads = seed / std::size(models) % 2 == 1;
  text = scaleConfig(text,
                     "hidden_size|d_model|n_embd|intermediate_size|n_inner|"
                     "d_ff|encoder_ffn_dim|decoder_ffn_dim|ffn_hidden_size|"
                     "vocab_size|pooler_hidden_size|embedding_size",
                     8);
  text = scaleConfig(text, "d_kv|head_dim", hasManyHeads ? 2 : 8);
  if (hasManyHeads)
    text = scaleConfig(text,
                       "num_attention_heads|num_key_value_heads|num_kv_heads|"
                       "n_head|num_heads|encoder_attention_heads|"
                       "decoder_attention_heads",
                       4);
  return text;
}

/// A model at its widths and at smaller ones.
struct ModelPair {
  ModelText whole, shrunk;
};

/// Imports a config and shrinks its module; an error names the model.
Result<ModelPair> makePair(uint64_t seed) {
  const std::string name = models[seed % std::size(models)];
  const test::TempFolder folder;
  const std::string path = folder.write("config.json", makeConfig(name, seed));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  prepareContext(context);
  ImportInfo info;
  ImportOptions options;
  options.path = path;
  options.configOnly = true;
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> module,
                 importModel(context, options, info));
  cutLayers(*module);
  TRANSOM_ASSIGN(ShrunkModel shrunk,
                 shrinkModule(*module, info.tensorShapes, {}, SizeRules()));
  return ModelPair{{printModule(*module), info.tensorShapes},
                   {printModule(*shrunk.module), shrunk.shapes}};
}

/// Plants bugs after each model's passes.
class PairPlanter {
public:
  explicit PairPlanter(uint64_t firstSeed) : nextSeed(firstSeed) {}

  void run(int64_t count) {
    while (planted < count && !::testing::Test::HasFatalFailure())
      runModel(nextSeed++, count);
  }

  /// By kind: bugs found at the model's widths are `planted`, bugs that are
  /// also found at the smaller ones are `both`.
  Tallies tallies;
  int64_t planted = 0;

private:
  void runModel(uint64_t seed, int64_t count);
  void plantOne(MutatedModel &whole, MutatedModel &shrunk, StringRef pass,
                uint64_t seed);
  bool finds(MutatedModel &model, ModuleOp mutant);

  uint64_t nextSeed;
  size_t nextKind = 0;
};

bool PairPlanter::finds(MutatedModel &model, ModuleOp mutant) {
  ProcessLimits limits;
  limits.mebibytes = 4096;
  ProcessResult result = runLimited(
      [&] {
        return std::string(
            model.check(mutant).finder == Finder::Nobody ? "no" : "yes");
      },
      limits);
  return !result.finished || result.text == "yes";
}

void PairPlanter::plantOne(MutatedModel &whole, MutatedModel &shrunk,
                           StringRef pass, uint64_t seed) {
  auto kinds = getMutationKinds();
  for (size_t i = 0; i < kinds.size(); ++i) {
    const MutationKind &kind = kinds[nextKind++ % kinds.size()];
    // Both models choose by the same random numbers.
    const uint64_t choice = seed * 1000 + static_cast<uint64_t>(planted);
    OwningOpRef<ModuleOp> large(whole.getModule().clone()),
        small(shrunk.getModule().clone());
    Random forLarge(choice), forSmall(choice);
    auto bug = plant(*large, kind, whole.getWeights(), forLarge);
    if (!bug)
      continue;
    ++planted;
    if (!finds(whole, *large))
      return;
    auto same = plant(*small, kind, shrunk.getWeights(), forSmall);
    Tally &tally = tallies[kind.name];
    ++tally.planted;
    if (same && same->what == bug->what && finds(shrunk, *small)) {
      ++tally.found["both"];
      return;
    }
    ++tally.survived;
    std::cout << "seed " << seed << ", " << models[seed % std::size(models)]
              << ", after '" << pass.str() << "', " << kind.name << ": "
              << bug->what << "\n  at its widths: " << bug->before << "\n    "
              << bug->after << "\n  at smaller ones: "
              << (same ? same->before + "\n    " + same->after
                       : std::string("no such place"))
              << "\n";
    return;
  }
}

void PairPlanter::runModel(uint64_t seed, int64_t count) {
  Result<ModelPair> pair = makePair(seed);
  ASSERT_TRUE(pair) << models[seed % std::size(models)] << ": "
                    << pair.error().message;
  MutatedModel whole(pair->whole, seed), shrunk(pair->shrunk, seed);
  for (MutatedModel *model : {&whole, &shrunk}) {
    Result<void> started = model->start();
    ASSERT_TRUE(started) << "seed " << seed << ": " << started.error().message;
  }
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    for (const transom::PassInfo &pass : getPasses()) {
      if (pass.stage != stage || !runsPass(pass, whole.getPasses()))
        continue;
      Result<bool> changed = whole.runPass(pass), same = shrunk.runPass(pass);
      ASSERT_TRUE(changed) << changed.error().message;
      ASSERT_TRUE(same) << same.error().message;
      EXPECT_EQ(*changed, *same) << "seed " << seed << ", " << pass.flag.str();
      for (int more = 0; *changed && more < 2 && planted < count; ++more)
        plantOne(whole, shrunk, pass.flag, seed);
    }
}

class ShrunkMutants : public ::testing::TestWithParam<Seeds> {
protected:
  static void TearDownTestSuite() {
    Tally all = print(total, finders);
    EXPECT_GE(all.getScore(), leastFound);
  }

  static Tallies total;
};

Tallies ShrunkMutants::total;

TEST_P(ShrunkMutants, areFound) {
  for (int64_t group = GetParam().first; group < GetParam().end; ++group) {
    PairPlanter planter(static_cast<uint64_t>(group) * 4);
    planter.run(mutantsOfGroup);
    for (const auto &[kind, tally] : planter.tallies)
      total[kind].add(tally);
  }
}

INSTANTIATE_TEST_SUITE_P(From, ShrunkMutants,
                         ::testing::ValuesIn(groupSeeds(16, 1)),
                         nameByFirstSeed);

} // namespace
