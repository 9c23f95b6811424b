// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random models from module to shared object to results, through the public C
// API, against the reference evaluator: for each instruction set, with fusions
// on and off, and with the same bits for all thread counts.
#include "compiler/driver/CompileModule.h"
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/options/ModuleOptions.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/onednn/OneDnn.h"
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/CompiledModel.h"
#include "test/e2e/random/RandomGraph.h"
#include "test/e2e/random/Seeds.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// f32 against float64, after norms that may magnify small differences. In bf16
/// a difference may change how an operand is rounded.
constexpr double inFloat32 = 2e-4, inBf16 = 0.02;

/// LLVM takes most of the time, so only each fifth batch is optimized.
unsigned optLevelFor(uint64_t seed) {
  return seed / seedsOfOneSize % 5 == 1 ? 2 : 0;
}

/// Models that are compiled together.
struct Batch {
  Batch(uint64_t first, int64_t count);
  /// Plans kernels as the compiler does; the error, or empty.
  std::string plan();
  /// Returns true if kernels round operands to bf16 or to integers.
  bool rounds() const {
    return options.dtype == "bf16" || !options.quantize.empty();
  }
  /// Replaces expected results by the bf16 kernel results, with the same
  /// rounding. Returns the evaluator's error, or an empty string.
  std::string expectBf16();
  /// Compiles to a file; returns the compiler's error, or an empty string.
  std::string compile();
  /// Returns the first error in the results for an instruction set; appends the
  /// results to `results`.
  std::string run(const char *isa, unsigned threads,
                  std::vector<std::vector<NamedTensor>> &results) const;
  /// Returns the first bit difference from the evaluator's results.
  std::string
  checkBits(const InstructionSet &isa,
            const std::vector<std::vector<NamedTensor>> &results) const;

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module, planned;
  RandomWeights weights;
  std::vector<Case> cases;
  CompileOptions options;
};

/// Instruction sets for a batch: one, since code for two takes twice the time,
/// and both for each fourth batch, so that their bits are compared. bf16 and
/// integers use all instruction sets, since each multiplies them differently,
/// except in the integer batch that every run checks.
std::vector<std::string> targetsFor(uint64_t seed, bool rounds) {
  uint64_t batch = seed / seedsOfOneSize;
  if (batch == 2)
    return {"x86-64-v4"};
  if (batch % 4 == 0 || rounds)
    return {"x86-64-v3", "x86-64-v4"};
  return {batch % 2 ? "x86-64-v4" : "x86-64-v3"};
}

/// One batch in five runs its GEMMs in oneDNN, if that is installed.
std::string backendFor(uint64_t seed) {
  static const bool isThere = bool(OneDnnModel::open("avx512"));
  return isThere && seed / seedsOfOneSize % 5 == 3 ? "onednn" : "native";
}

/// Three batches in ten have whole-tile widths, which AMX multiplies.
GraphKind kindFor(uint64_t seed) {
  const uint64_t batch = seed / seedsOfOneSize % 10;
  return batch == 2 || batch == 6 || batch == 9 ? GraphKind::Tiles
                                                : getUsualKind(seed);
}

/// Two batches in ten have bf16 GEMM weights and operands: one with whole
/// tiles, and among the first ten one with an even head size, whose attention
/// is bf16 too.
std::string dtypeFor(uint64_t seed) {
  const uint64_t batch = seed / seedsOfOneSize % 10;
  return batch == 7 || batch == 9 ? "bf16" : "f32";
}

/// Four batches in ten have integer GEMM weights: two with whole tiles, one
/// with f32 activations, and one together with bf16.
void quantizeFor(uint64_t seed, CompileOptions &options) {
  const uint64_t batch = seed / seedsOfOneSize % 10;
  if (batch == 2)
    options.quantize = "int4";
  if (batch == 4 || batch == 6 || batch == 7)
    options.quantize = "int8";
  if (batch == 4)
    options.activations = "f32";
  if (batch == 6)
    options.groupSize = 1024;
  if (batch == 7)
    options.groupSize = 32;
}

/// The instruction sets that an artifact for a target holds.
std::vector<std::string> getInstructionSetsFor(const std::string &target,
                                               const CompileOptions &options) {
  const ModelTypes types = {options.dtype == "bf16",
                            !options.quantize.empty() &&
                                options.activations != "f32"};
  std::vector<std::string> isas;
  for (const InstructionSet &isa : getInstructionSets())
    if (target == isa.target && isa.isFor(types))
      isas.push_back(isa.name);
  return isas;
}

/// Disabled optional passes: none for half the batches.
std::vector<std::string> disabledFor(uint64_t seed) {
  Random random(seed ^ 0xd15ab1ed);
  std::vector<std::string> disabled;
  if (random.chance(50))
    return disabled;
  for (const transom::PassInfo &pass : getPasses())
    if (!pass.required && random.chance(30) &&
        pass.flag !=
            "kern-choose-precision") // bf16 becomes f32 if it is disabled
      disabled.push_back(pass.flag.str());
  return disabled;
}

Batch::Batch(uint64_t first, int64_t count) {
  prepareContext(context);
  module = makeRandomModule(&context);
  for (int64_t i = 0; i < count; ++i)
    addRandomGraph(*module, first + i, weights, kindFor(first + i));
  EvaluateOptions evaluation;
  evaluation.source = &weights;
  for (int64_t i = 0; i < 2 * count; ++i) {
    std::string entry = "g" + std::to_string(first + i / 2);
    Case test = {
        entry, randomInputs(*module, entry, 2 * first + i, Lengths::Long), {}};
    auto result = evaluate(*module, entry, test.inputs, evaluation);
    EXPECT_TRUE(result) << (result ? "" : result.error().message);
    if (result)
      test.outputs = *result;
    cases.push_back(std::move(test));
  }
  options.dtype = dtypeFor(first);
  quantizeFor(first, options);
  options.targets = targetsFor(first, rounds());
  options.optLevel = optLevelFor(first);
  options.backend = options.quantize.empty() ? backendFor(first) : "native";
  options.output = ::testing::TempDir() + "/random-" + std::to_string(first) +
                   "-" + std::to_string(count) + "-" +
                   std::to_string(::getpid()) + ".so";
}

std::string Batch::plan() {
  planned = module->clone();
  setModuleOptions(*planned, options);
  PipelineOptions pipeline;
  pipeline.disabled = {options.disabledPasses.begin(),
                       options.disabledPasses.end()};
  PassManager passes(&context);
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    populateStage(passes, stage, pipeline);
  return failed(passes.run(*planned)) ? "a pass failed" : "";
}

std::string Batch::expectBf16() {
  EvaluateOptions evaluation;
  evaluation.source = &weights;
  for (Case &test : cases) {
    auto result = evaluate(*planned, test.entry, test.inputs, evaluation);
    if (!result)
      return result.error().message;
    test.outputs = *result;
  }
  return {};
}

std::string
Batch::checkBits(const InstructionSet &isa,
                 const std::vector<std::vector<NamedTensor>> &results) const {
  Bits bits(isa);
  EvaluateOptions evaluation;
  evaluation.source = &weights;
  evaluation.domain = &bits;
  for (auto [test, got] : llvm::zip_equal(cases, results)) {
    auto expected = evaluate(*planned, test.entry, test.inputs, evaluation);
    std::string complaint =
        expected ? getBitDifference(got, *expected) : expected.error().message;
    if (!complaint.empty())
      return "in bits, entry '" + test.entry + "': " + complaint;
  }
  return {};
}

std::string Batch::compile() {
  auto report = compileModule(*module, weights, options);
  if (report && std::getenv("TRANSOM_RANDOM_TIMES"))
    for (auto &[stage, seconds] : report->seconds)
      llvm::errs() << stage << " " << seconds << " s\n";
  return report ? "" : report.error().message;
}

std::string Batch::run(const char *isa, unsigned threads,
                       std::vector<std::vector<NamedTensor>> &results) const {
  CompiledModel model;
  const double tolerance = rounds() ? inBf16 : inFloat32;
  if (std::string error = model.load(options.output, isa, threads);
      !error.empty())
    return error;
  for (const Case &test : cases) {
    auto result = model.run(test.entry, test.inputs, test.outputs);
    // A difference that changes a rounded integer is 1/127 of the largest
    // element in a group, which norms may magnify: only the bits are checked
    // then.
    std::string complaint;
    if (!result)
      complaint = result.error().message;
    else if (options.quantize.empty())
      complaint = getDifference(*result, test.outputs, tolerance);
    if (!complaint.empty())
      return "entry '" + test.entry + "': " + complaint;
    results.push_back(std::move(*result));
  }
  return {};
}

/// Compiles and runs a batch; returns the first error.
std::string check(Batch &batch, const std::vector<std::string> &disabled) {
  // Compute the expected results with the batch's options.
  batch.options.disabledPasses = disabled;
  std::string error;
  if (batch.options.backend == "native")
    error = batch.plan();
  if (error.empty() && batch.options.dtype == "bf16")
    error = batch.expectBf16();
  if (!error.empty())
    return "evaluate: " + error;
  if (std::string error = batch.compile(); !error.empty())
    return "compile: " + error;
  // Run each supported instruction set with one and two threads.
  std::vector<std::vector<NamedTensor>> first;
  std::string complaint;
  std::vector<std::string> isas;
  for (const std::string &target : batch.options.targets)
    llvm::append_range(isas, getInstructionSetsFor(target, batch.options));
  for (const std::string &isa : isas) {
    if (!complaint.empty() || !CompiledModel::runsHere(isa))
      continue;
    if (batch.options.dtype == "bf16")
      first.clear(); // pairs are not multiplied alike everywhere
    for (unsigned threads : {1u, 2u}) {
      std::vector<std::vector<NamedTensor>> results;
      complaint = batch.run(isa.c_str(), threads, results);
      if (batch.options.backend != "native")
        continue; // its bits may depend on the threads
      if (first.empty()) {
        first = results;
        if (complaint.empty())
          complaint = batch.checkBits(*findInstructionSet(isa), results);
      }
      for (size_t i = 0; complaint.empty() && i < results.size(); ++i)
        complaint = getDifference(results[i], first[i], 0.0);
      if (!complaint.empty()) {
        complaint =
            isa + ", " + std::to_string(threads) + " threads: " + complaint;
        break;
      }
    }
  }
  std::remove(batch.options.output.c_str());
  return complaint;
}

/// Checks seeds together, and one by one where that fails.
void checkSeeds(uint64_t first, int64_t count) {
  std::vector<std::string> disabled = disabledFor(first);
  Batch together(first, count);
  std::string complaint = check(together, disabled);
  if (complaint.empty())
    return;
  std::string without;
  for (const std::string &pass : disabled)
    without += " " + pass;
  int failures = count == 1;
  if (failures)
    ADD_FAILURE() << "seed " << first << ": " << complaint
                  << ", without:" << without;
  for (uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    Batch alone(seed, 1);
    std::string one = check(alone, disabled);
    failures += !one.empty();
    EXPECT_EQ(one, "") << "seed " << seed << ", without:" << without;
  }
  EXPECT_TRUE(failures) << "seeds " << first << " to " << first + count - 1
                        << " together: " << complaint
                        << ", without:" << without;
}

class RandomGraphs : public ::testing::TestWithParam<Seeds> {};

TEST_P(RandomGraphs, compileToTheResultsOfTheEvaluator) {
  checkSeeds(GetParam().first, GetParam().end - GetParam().first);
}

INSTANTIATE_TEST_SUITE_P(From, RandomGraphs,
                         ::testing::ValuesIn(groupSeeds(500, seedsOfOneSize)),
                         nameByFirstSeed);

} // namespace
