// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures how many lowering faults the machine code check finds. The faults
// are planted in random models' lowered code.
#include "test/e2e/random/Seeds.h"
#include "test/mutation/CodeMutations.h"
#include "test/mutation/LimitedProcess.h"
#include "test/mutation/LoweredModel.h"
#include "test/mutation/Tally.h"
#include <gtest/gtest.h>
#include <iostream>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Faults in one group; they are from one model unless it has no locations for
/// them.
constexpr int64_t faultsOfGroup = 12;
/// Faults that are found, in percent, without faults that are proved harmless.
constexpr double leastFound = 98;
constexpr const char *finders[] = {"bits", "bytes", "stopped"};

/// Plants faults in the models' code.
class Planter {
public:
  explicit Planter(uint64_t firstSeed) : nextSeed(firstSeed) {}

  void run(int64_t count);

  Tallies tallies;
  int64_t planted = 0; ///< without faults that are proved harmless

private:
  void runModel(uint64_t seed, int64_t count);
  /// Plants a fault of the least frequent kind.
  void plantOne(LoweredModel &model, Random &random);
  void judge(LoweredModel &model, ModuleOp mutant, const PlantedFault &fault,
             const CodeMutationKind &kind, const Random &random);
  /// For faults that were not found: the rule that proves them harmless, or
  /// empty.
  std::string getRule(LoweredModel &model, const PlantedFault &fault,
                      const CodeMutationKind &kind, const Random &random);

  uint64_t nextSeed;
};

void Planter::run(int64_t count) {
  // Any number may be proved harmless.
  while (planted < count && !::testing::Test::HasFatalFailure())
    runModel(nextSeed++, count);
}

/// The output from a check in a separate process: `0` and text if nothing was
/// found, else `1`, `2` or `3`; `4` if the code is invalid.
std::string checkOnce(LoweredModel &model, ModuleOp mutant,
                      const std::set<std::string> &phases) {
  CodeFinding finding = model.check(mutant, phases);
  if (!finding.error.empty())
    return (finding.isValid ? "3" : "4") + finding.error;
  if (!finding.difference)
    return "0after " + std::to_string(finding.dispatches) + " dispatches";
  const CodeDifference &found = *finding.difference;
  return (found.operation == "kern.phase" ? "2" : "1") + found.call +
         ", phase '" + found.phase + "', " + found.operation + ", " +
         found.buffer + " " + found.index + ": " + found.found + ", not " +
         found.expected;
}

void Planter::runModel(uint64_t seed, int64_t count) {
  LoweredModel model(seed);
  ASSERT_EQ(model.start(), "") << model.getName();
  // The check finds nothing in unchanged code.
  ProcessResult intact =
      runLimited([&] { return checkOnce(model, model.getCode(), {}); });
  ASSERT_TRUE(intact.finished) << model.getName() << ": " << intact.text;
  ASSERT_EQ(intact.text.substr(0, 1), "0")
      << model.getName() << ": " << intact.text;
  Random random(seed);
  for (int64_t i = 0; i < 2 * faultsOfGroup && planted < count; ++i)
    plantOne(model, random);
}

void Planter::plantOne(LoweredModel &model, Random &random) {
  std::vector<const CodeMutationKind *> kinds;
  for (const CodeMutationKind &kind : getCodeMutationKinds())
    kinds.push_back(&kind);
  std::stable_sort(kinds.begin(), kinds.end(), [&](auto *a, auto *b) {
    return tallies[a->name].planted < tallies[b->name].planted;
  });
  for (const CodeMutationKind *kind : kinds) {
    OwningOpRef<ModuleOp> mutant(model.getCode().clone());
    const Random before = random;
    auto fault = plantFault(*mutant, *kind, random);
    if (!fault)
      continue;
    return judge(model, *mutant, *fault, *kind, before);
  }
}

/// Whether the values that a fault changes may be arbitrary in all calls in a
/// check: `equal`, or the finding with other values.
std::string tryNumbers(LoweredModel &model, const CodeMutationKind &kind,
                       const Random &random,
                       const std::set<std::string> &phases) {
  for (double number : {std::nan(""), 1e30, -1e30}) {
    OwningOpRef<ModuleOp> other(model.getCode().clone());
    Random same = random;
    if (!plantNumber(*other, kind, same, number))
      return "survived";
    ProcessResult result =
        runLimited([&] { return checkOnce(model, *other, phases); });
    if (!result.finished || result.text.substr(0, 1) != "0")
      return "survived, but with another number: " + result.text;
  }
  return "equal: numbers that nothing depends on";
}

/// The calls that run the fault location, where the process then stops.
enum class Reach { Checked, Elsewhere, Never };

/// Whether the fault location is run by the calls in a check, or by calls with
/// other sizes.
Reach findReach(LoweredModel &model, ModuleOp trapped) {
  for (Reach reach : {Reach::Checked, Reach::Elsewhere}) {
    ProcessResult result = runLimited(
        [&] { return model.run(trapped, reach == Reach::Elsewhere); });
    if (!result.finished || !result.text.empty())
      return reach;
  }
  return Reach::Never;
}

std::string Planter::getRule(LoweredModel &model, const PlantedFault &fault,
                             const CodeMutationKind &kind,
                             const Random &random) {
  OwningOpRef<ModuleOp> trapped(model.getCode().clone());
  Random same = random;
  plantTrap(*trapped, kind, same);
  const Reach reach = findReach(model, *trapped);
  if (reach == Reach::Never)
    return "equal: code that no call runs";
  if (reach == Reach::Elsewhere)
    return "survived: only calls of other sizes run it";
  OwningOpRef<ModuleOp> different(model.getCode().clone());
  same = random;
  if (plantTrapWhereDifferent(*different, kind, same) &&
      findReach(model, *different) == Reach::Never)
    return "equal: a product that is always zero";
  return tryNumbers(model, kind, random, fault.phases);
}

void Planter::judge(LoweredModel &model, ModuleOp mutant,
                    const PlantedFault &fault, const CodeMutationKind &kind,
                    const Random &random) {
  Tally &tally = tallies[kind.name];
  // Code that does not compile to an artifact does not count.
  ProcessResult result =
      runLimited([&] { return checkOnce(model, mutant, fault.phases); });
  if (result.finished && result.text.substr(0, 1) == "4") {
    std::cout << model.getName() << ", " << kind.name << ": " << fault.edit.what
              << ": not planted: " << result.text.substr(1) << std::endl;
    return;
  }
  ++tally.planted;
  ++planted;
  // A survivor may be proved harmless.
  const bool isStopped = !result.finished || result.text.empty();
  const char finder = isStopped ? '3' : result.text[0];
  std::string verdict = "found: " + result.text.substr(!isStopped);
  if (finder == '0') {
    verdict = getRule(model, fault, kind, random);
    planted -= verdict[0] == 'e';
    ++(verdict[0] == 'e' ? tally.equal : tally.survived);
  } else {
    ++tally.found[finder == '1' ? "bits" : finder == '2' ? "bytes" : "stopped"];
  }
  // Print survivors, or everything on request.
  if (finder == '0' || fromEnvironment("TRANSOM_RANDOM_DUMP", 0))
    std::cout << model.getName() << ", '" << fault.function << "', "
              << kind.name << ": " << fault.edit.what
              << "\n  before: " << fault.edit.before
              << "\n  after:  " << fault.edit.after << "\n  " << verdict
              << std::endl;
}

class CodeMutants : public ::testing::TestWithParam<Seeds> {
protected:
  static void TearDownTestSuite() {
    const Tally all = print(total, finders);
    // A percentage over few faults is not significant: one may survive in a
    // group.
    if (all.survived > 1)
      EXPECT_GE(all.getScore(), leastFound);
  }

  static Tallies total;
};

Tallies CodeMutants::total;

TEST_P(CodeMutants, areFound) {
  for (int64_t group = GetParam().first; group < GetParam().end; ++group) {
    Planter planter(group);
    planter.run(faultsOfGroup);
    EXPECT_GE(planter.planted, faultsOfGroup);
    for (const auto &[kind, tally] : planter.tallies)
      total[kind].add(tally);
  }
}

INSTANTIATE_TEST_SUITE_P(From, CodeMutants,
                         ::testing::ValuesIn(groupSeeds(40, 1)),
                         nameByFirstSeed);

} // namespace
