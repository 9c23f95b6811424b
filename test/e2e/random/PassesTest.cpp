// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random models mean the same before and after each graph and kernel pass,
// whatever passes are left out.
#include "compiler/pipeline/Pipeline.h"
#include "compiler/pipeline/Register.h"
#include "dialects/attn/Attn.h"
#include "passes/Remarks.h"
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/RandomGraph.h"
#include "test/e2e/random/Seeds.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// Graph passes may reorder sums of float64; constants of kern are f32.
constexpr double reordered = 1e-10, inKern = 1e-6;

/// Optional passes that are left out for this seed: mostly none.
std::set<std::string> disabledFor(Random &random) {
  std::set<std::string> disabled;
  for (const transom::PassInfo &pass : getPasses())
    if (!pass.required && random.chance(15))
      disabled.insert(pass.flag.str());
  return random.chance(60) ? std::set<std::string>() : disabled;
}

/// Types that importers leave out.
void forgetTypes(ModuleOp module) {
  module.walk([](attn::ShapeInferable op) {
    Value result = op->getResult(0);
    if (llvm::any_of(result.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        }))
      return;
    result.setType(UnrankedTensorType::get(
        cast<TensorType>(result.getType()).getElementType()));
  });
}

/// In how many graphs a pass did something.
using Counts = std::map<std::string, int>;

void countRemarks(ModuleOp module, Counts &counts) {
  std::set<std::string> passes;
  for (const Remark &remark : Remarks::readFrom(module))
    if (remark.kind == RemarkKind::Passed)
      passes.insert(remark.category);
  for (const std::string &pass : passes)
    ++counts[pass];
}

/// The first complaint about one seed.
std::string check(uint64_t seed, Counts &counts) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = makeRandomModule(&context);
  RandomWeights weights;
  addRandomGraph(*module, seed, weights);
  EvaluateOptions options;
  options.source = &weights;
  std::string entry = "g" + std::to_string(seed);
  std::vector<Case> cases;
  for (uint64_t i = 0; i < 2; ++i) {
    Case test = {
        entry, randomInputs(*module, entry, seed * 2 + i, Lengths::Short), {}};
    auto result = evaluate(*module, entry, test.inputs, options);
    if (!result)
      return result.error().message;
    test.outputs = *result;
    cases.push_back(std::move(test));
  }
  Random random(seed ^ 0x5eed);
  if (random.chance(50))
    forgetTypes(*module);
  std::set<std::string> disabled = disabledFor(random);
  Backend backend = random.chance(20) ? Backend::OneDnn : Backend::Native;
  if (backend == Backend::Native && random.chance(30))
    (*module)->setAttr("transom.dtype", StringAttr::get(&context, "bf16"));
  for (Stage stage : {Stage::AttnOpt, Stage::Kern}) {
    double tolerance = stage == Stage::AttnOpt ? reordered : inKern;
    std::string complaint = checkPasses(*module, stage, options, cases,
                                        tolerance, disabled, backend);
    if (!complaint.empty())
      return complaint;
  }
  countRemarks(*module, counts);
  return {};
}

/// Prints the models of seeds, to look into a failure.
void dump(uint64_t first, uint64_t count) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = makeRandomModule(&context);
  RandomWeights weights;
  for (uint64_t seed = first; seed < first + count; ++seed)
    addRandomGraph(*module, seed, weights);
  module->print(llvm::outs(), OpPrintingFlags().enableDebugInfo());
  llvm::outs().flush();
}

class RandomGraphs : public ::testing::TestWithParam<Seeds> {};

TEST_P(RandomGraphs, meanTheSameAfterEachPass) {
  Seeds seeds = GetParam();
  int64_t count = seeds.end - seeds.first;
  if (fromEnvironment("TRANSOM_RANDOM_DUMP", 0))
    return dump(seeds.first, count);
  Counts counts;
  for (int64_t seed = seeds.first; seed < seeds.end; ++seed)
    EXPECT_EQ(check(seed, counts), "") << "seed " << seed;
  for (StringRef pass : {"attn-fuse-attention", "attn-fuse-projections",
                         "attn-remove-padding", "attn-outline-layers",
                         "kern-choose-precision", "convert-kern-to-onednn"})
    EXPECT_GE(counts[pass.str()], count / 50)
        << "'" << pass.str() << "' is hardly tested";
}

INSTANTIATE_TEST_SUITE_P(From, RandomGraphs,
                         ::testing::ValuesIn(groupSeeds(500, seedsOfOneSize)),
                         nameByFirstSeed);

} // namespace
