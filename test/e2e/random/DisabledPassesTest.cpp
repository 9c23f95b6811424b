// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random models have the same results after each pass with one optional pass
// disabled, and with long sequences.
#include "test/e2e/random/GraphCheck.h"
#include "test/e2e/random/Seeds.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::testing;

namespace {

/// Seeds that no other test uses; the long ones take a quarter of a minute,
/// where four layers with wide attention take many.
constexpr uint64_t firstWithout = 10000, firstLong = 20200;

std::vector<std::string> getOptionalPasses() {
  std::set<std::string> flags;
  for (const transom::PassInfo &pass : getPasses())
    if (!pass.required)
      flags.insert(pass.flag.str());
  return {flags.begin(), flags.end()};
}

class RandomGraphsWithout : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomGraphsWithout, meanTheSameAfterEachPass) {
  PassCounts counts;
  for (uint64_t seed = firstWithout; seed < firstWithout + 50; ++seed) {
    GraphCheck check(seed);
    check.disabled = {GetParam()};
    EXPECT_EQ(checkGraph(check, counts), "") << "seed " << seed;
  }
  EXPECT_EQ(counts.count(GetParam()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Passes, RandomGraphsWithout,
                         ::testing::ValuesIn(getOptionalPasses()),
                         [](const auto &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = llvm::isAlnum(c) ? c : '_';
                           return name;
                         });

TEST(RandomGraphs, ofLongSequencesMeanTheSame) {
  PassCounts counts;
  const uint64_t first = fromEnvironment("TRANSOM_RANDOM_SEED", firstLong),
                 end = first + fromEnvironment("TRANSOM_RANDOM_GRAPHS", 10);
  for (uint64_t seed = first; seed < end; ++seed) {
    GraphCheck check(seed);
    check.lengths = Lengths::Longest;
    check.numCases = 1;
    EXPECT_EQ(checkGraph(check, counts), "") << "seed " << seed;
  }
}

} // namespace
