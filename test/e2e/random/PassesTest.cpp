// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random models have the same results before and after each graph and kernel
// pass, for any set of disabled passes.
#include "test/e2e/random/GraphCheck.h"
#include "test/e2e/random/Seeds.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Prints the models for some seeds, to debug a failure.
void dump(uint64_t first, uint64_t count) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = makeRandomModule(&context);
  RandomWeights weights;
  for (uint64_t seed = first; seed < first + count; ++seed)
    addRandomGraph(*module, seed, weights, getUsualKind(seed));
  module->print(llvm::outs(), OpPrintingFlags().enableDebugInfo());
  llvm::outs().flush();
}

class RandomGraphs : public ::testing::TestWithParam<Seeds> {};

TEST_P(RandomGraphs, meanTheSameAfterEachPass) {
  Seeds seeds = GetParam();
  int64_t count = seeds.end - seeds.first;
  if (fromEnvironment("TRANSOM_RANDOM_DUMP", 0))
    return dump(seeds.first, count);
  PassCounts counts;
  for (int64_t seed = seeds.first; seed < seeds.end; ++seed)
    EXPECT_EQ(checkGraph(GraphCheck(seed), counts), "") << "seed " << seed;
  for (StringRef pass : {"attn-fuse-attention", "attn-fuse-projections",
                         "attn-remove-padding", "attn-outline-layers",
                         "kern-choose-precision", "convert-kern-to-onednn"})
    EXPECT_GE(counts[pass.str()], count / 50)
        << "'" << pass.str() << "' is hardly tested";
}

INSTANTIATE_TEST_SUITE_P(From, RandomGraphs,
                         ::testing::ValuesIn(groupSeeds(2000, seedsOfOneSize)),
                         nameByFirstSeed);

} // namespace
