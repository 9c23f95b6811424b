// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random models written as graph.json and imported have the same results.
#include "compiler/import/Import.h"
#include "dialects/attn/Attn.h"
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/GraphExport.h"
#include "test/e2e/random/RandomGraph.h"
#include "llvm/Support/FileSystem.h"
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// The outcome for a seed.
struct Outcome {
  bool imported = false; ///< false: graph.json cannot spell it
  std::string complaint;
};

/// Replaces a module's weights by the weights in the written file, which are
/// f32.
void readWrittenWeights(ModuleOp module) {
  module.walk([](attn::WeightOp weight) {
    weight.setExprAttr(weights::ExprAttr::get(
        weight.getContext(), WeightExpr::file(weight.getSymName().str())));
  });
}

Outcome check(uint64_t seed, const std::string &folder) {
  // Build the model and write it.
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = makeRandomModule(&context);
  RandomWeights weights;
  addRandomGraph(*module, seed, weights, getUsualKind(seed));
  std::string entry = "g" + std::to_string(seed);
  Outcome outcome;
  if (!exportGraph(*module, entry, weights, folder))
    return outcome;
  outcome.imported = true;
  // Import the written model.
  ImportInfo info;
  auto imported = importModel(context, {folder + "/graph.json"}, info);
  if (!imported)
    return {true, imported.error().message};
  // Evaluate both on the same inputs with the written weights.
  std::vector<NamedTensor> inputs =
      randomInputs(*module, entry, seed, Lengths::Short);
  EvaluateOptions options;
  options.source = &info.files;
  readWrittenWeights(*module);
  auto expected = evaluate(*module, entry, inputs, options);
  auto got = evaluate(**imported, "run", inputs, options);
  if (!expected || !got)
    outcome.complaint =
        expected ? got.error().message : expected.error().message;
  else
    outcome.complaint = getDifference(*got, *expected, 1e-12);
  return outcome;
}

TEST(RandomGraphs, meanTheSameWhenImportedFromGraphJson) {
  std::string folder =
      ::testing::TempDir() + "/random-import-" + std::to_string(::getpid());
  ASSERT_FALSE(llvm::sys::fs::create_directory(folder));
  int imported = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    Outcome outcome = check(seed, folder);
    EXPECT_EQ(outcome.complaint, "") << "seed " << seed;
    imported += outcome.imported;
  }
  EXPECT_GE(imported, 300);
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
