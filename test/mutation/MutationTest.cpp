// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures how many bugs planted in the IR after passes are found by the
// dialect verifiers, the evaluator with its checked memory, and equal results
// in residues, in this order.
#include "test/e2e/random/Seeds.h"
#include "test/mutation/EqualMutants.h"
#include "test/mutation/LimitedProcess.h"
#include "test/mutation/MutatedModel.h"
#include "test/mutation/Mutations.h"
#include "test/mutation/Tally.h"
#include <gtest/gtest.h>
#include <iostream>
#include <set>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Mutants in one group.
constexpr int64_t mutantsOfGroup = 200;
/// Bugs that are found, in percent, without mutants that are proved equal; and
/// proved mutants, in percent of planted ones.
constexpr double leastFound = 98, mostEqual = 4;
constexpr const char *finders[] = {"verifier", "evaluator", "residues",
                                   "stopped"};

/// Plants bugs after each model's passes.
class Planter {
public:
  explicit Planter(uint64_t firstSeed) : nextSeed(firstSeed) {}

  void run(int64_t count);

  Tallies tallies;
  int64_t planted = 0;

private:
  void runModel(uint64_t seed, int64_t count);
  /// Plants a bug of the least frequent kind.
  bool plantOne(MutatedModel &model, uint64_t seed, StringRef pass);
  bool plantKind(MutatedModel &model, uint64_t seed, StringRef pass,
                 const MutationKind &kind);
  void judge(MutatedModel &model, ModuleOp mutant, const Planted &bug,
             const std::string &where, Tally &tally);

  uint64_t nextSeed;
  std::optional<Random> random;
};

void Planter::run(int64_t count) {
  while (planted < count)
    runModel(nextSeed++, count);
}

void Planter::runModel(uint64_t seed, int64_t count) {
  random.emplace(seed);
  MutatedModel model(seed * 53);
  if (model.hidesBugs())
    return;
  Result<void> started = model.start();
  ASSERT_TRUE(started) << "seed " << seed << ": " << started.error().message;
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    for (const transom::PassInfo &pass : getPasses()) {
      if (pass.stage != stage || !runsPass(pass, model.getPasses()))
        continue;
      Result<bool> changed = model.runPass(pass);
      ASSERT_TRUE(changed) << "seed " << seed << ": "
                           << changed.error().message;
      // Kinds that few passes leave a location for catch up.
      for (int more = 0; *changed && more < 4 && planted < count; ++more)
        if (!plantOne(model, seed, pass.flag))
          break;
    }
}

bool Planter::plantOne(MutatedModel &model, uint64_t seed, StringRef pass) {
  std::vector<const MutationKind *> kinds;
  for (const MutationKind &kind : getMutationKinds())
    kinds.push_back(&kind);
  std::stable_sort(kinds.begin(), kinds.end(), [&](auto *a, auto *b) {
    return tallies[a->name].planted < tallies[b->name].planted;
  });
  const int64_t mean = planted / static_cast<int64_t>(kinds.size());
  for (const MutationKind *kind : kinds)
    if (plantKind(model, seed, pass, *kind))
      return tallies[kind->name].planted <= mean;
  return false;
}

bool Planter::plantKind(MutatedModel &model, uint64_t seed, StringRef pass,
                        const MutationKind &kind) {
  OwningOpRef<ModuleOp> mutant(model.getModule().clone());
  auto bug = plant(*mutant, kind, model.getWeights(), *random);
  if (!bug)
    return false;
  Tally &tally = tallies[kind.name];
  ++tally.planted;
  ++planted;
  judge(model, *mutant, *bug,
        "seed " + std::to_string(seed) + ", after '" + pass.str() + "', " +
            kind.name + ": " + bug->what,
        tally);
  return true;
}

void Planter::judge(MutatedModel &model, ModuleOp mutant, const Planted &bug,
                    const std::string &where, Tally &tally) {
  // Run the check in a process with limits.
  ProcessResult result = runLimited([&] {
    Finding finding = model.check(mutant);
    return std::string(1, static_cast<char>('0' + int(finding.finder))) +
           finding.text;
  });
  auto show = [&](const std::string &what) {
    std::cout << where << "\n  before: " << bug.before
              << "\n  after:  " << bug.after << "\n  " << what << "\n";
  };
  if (!result.finished || result.text.empty()) {
    ++tally.found["stopped"];
    return show("stopped: " + result.text);
  }
  // Count the bug for its finder.
  const auto finder = static_cast<Finder>(result.text[0] - '0');
  if (fromEnvironment("TRANSOM_RANDOM_DUMP", 0))
    std::cout << where << ": " << result.text << "\n";
  if (finder == Finder::Verifier)
    ++tally.found["verifier"];
  else if (finder == Finder::Evaluator)
    ++tally.found["evaluator"];
  else if (finder == Finder::Residues)
    ++tally.found["residues"];
  if (finder != Finder::Nobody)
    return;
  // A survivor may be proved equal.
  std::string rule = getEquality(mutant, bug);
  ++(rule.empty() ? tally.survived : tally.equal);
  show(rule.empty() ? "survived" : "equal: " + rule);
}

class Mutants : public ::testing::TestWithParam<Seeds> {
protected:
  static void TearDownTestSuite() {
    Tally all = print(total, finders);
    EXPECT_GE(all.getScore(), leastFound);
    EXPECT_LE(all.equal * 100, mostEqual * all.planted);
  }

  static Tallies total;
};

Tallies Mutants::total;

TEST_P(Mutants, areFound) {
  for (int64_t group = GetParam().first; group < GetParam().end; ++group) {
    Planter planter(group * 1000);
    planter.run(mutantsOfGroup);
    EXPECT_GE(planter.planted, mutantsOfGroup);
    for (const auto &[kind, tally] : planter.tallies)
      total[kind].add(tally);
  }
}

INSTANTIATE_TEST_SUITE_P(From, Mutants, ::testing::ValuesIn(groupSeeds(10, 1)),
                         nameByFirstSeed);

} // namespace
