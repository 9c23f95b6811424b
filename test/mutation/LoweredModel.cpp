// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the compiler stages with an edit between two passes, and the tool's
// stepper with the compiler's check.
#include "test/mutation/LoweredModel.h"
#include "compiler/artifact/PlanArtifact.h"
#include "compiler/driver/CompileCode.h"
#include "compiler/options/ModuleOptions.h"
#include "compiler/pipeline/LowerModule.h"
#include "compiler/pipeline/Pipeline.h"
#include "compiler/verify/CheckDispatches.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/kernel/Passes.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/base/CodeSymbols.h"
#include "runtime/base/InstructionSet.h"
#include "test/e2e/random/RandomDecoder.h"
#include "tools/commands/verify/MachineStepper.h"
#include <gtest/gtest.h>
#include <unistd.h>

using namespace mlir;

namespace transom::testing {

/// Code is edited after the last pass before its loops become basic blocks.
static constexpr llvm::StringLiteral lastPass = "loop-invariant-code-motion";

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

LoweredModel::LoweredModel(uint64_t seed) {
  prepareContext(context);
  context.getDiagEngine().registerHandler(
      [](Diagnostic &) { return success(); });
  Random random(seed ^ 0xc0de);
  // On CPUs without AMX, its models have AVX2 code.
  const bool isForAmx =
      seed % 12 == 10 && findInstructionSet("amx")->runsHere();
  isa = isForAmx ? "amx" : "avx2";
  options.targets = {findInstructionSet(isa)->target};
  options.optLevel = 0;
  options.jobs = 1;
  const uint64_t kind = seed % 4;
  if (random.chance(25) && seed % 12 != 8)
    options.dtype = "bf16";
  if (seed % 12 == 8) {
    makeExperts();
  } else if (seed % 12 == 10) {
    options.dtype = "bf16";
    makeGraph(seed, GraphKind::Tiles);
  } else if (kind == 0) {
    makeGraph(seed, seed % 12 == 4    ? GraphKind::Positions
                    : seed % 24 == 12 ? GraphKind::Pipelines
                                      : GraphKind::Any);
  } else {
    makeDecoder(seed, kind == 3);
    if (random.chance(50))
      options.kvDtype = random.pick({"f32", "bf16", "int8", "int8"});
  }
  // Quantized weights in f32 models whose other random draws stay the same.
  // Experts occur in one seed out of 12, so their draws differ.
  const uint64_t draw = seed % 12 == 8 ? seed / 12 + 8 : seed;
  if (options.dtype == "f32" && draw % 5 == 3) {
    options.quantize = draw % 10 == 3 ? "int4" : "int8";
    options.groupSize = 32;
    if (draw % 15 == 3)
      options.activations = "f32";
  }
  options.attentionSchedule =
      random.pick({"auto", "auto", "split-kv", "two-pass"});
  name += ", seed " + std::to_string(seed) + ", " + isa + ", " + options.dtype +
          (options.quantize.empty() ? "" : " with " + options.quantize) + ", " +
          options.kvDtype + ", " + options.attentionSchedule;
  options.output = ::testing::TempDir() + "/lowered-" + std::to_string(seed) +
                   "-" + std::to_string(::getpid()) + ".so";
}

LoweredModel::~LoweredModel() = default;

/// Returns true for a graph that accepts any number of sequences with any
/// length.
static bool hasAllSizes(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  for (Type type : function.getArgumentTypes())
    if (auto dims = attn::getSymbolicShape(type);
        dims[0].constant() || (dims.size() > 1 && dims[1].constant()))
      return false;
  return true;
}

void LoweredModel::makeGraph(uint64_t seed, GraphKind graph) {
  name = graph == GraphKind::Positions   ? "graph of positions"
         : graph == GraphKind::Tiles     ? "graph of tiles"
         : graph == GraphKind::Pipelines ? "graph of a pipeline"
                                         : "graph";
  for (uint64_t i = 0; !module || !hasAllSizes(*module); ++i) {
    module = makeRandomModule(&context);
    addRandomGraph(*module, seed * 1009 + i, weights, graph);
  }
}

/// Tokens that go to two out of three experts; the row count is known only
/// during the call. No importer makes this.
static constexpr const char *expertsText = R"mlir(
!groups = !kern.buffer<[rows, 2] x i64>
!scales = !kern.buffer<[rows, 2] x f32>
!tokens = !kern.buffer<[routed] x i64>
!offsets = !kern.buffer<[4] x i64>
!x = !kern.buffer<[rows, 40] x f32>
!packed = !kern.buffer<[routed, 40] x f32>
!product = !kern.buffer<[routed, 37] x f32>
!y = !kern.buffer<[rows, 37] x f32>
!w = !kern.weight<[111, 40] x f32, unset, splits [37, 37, 37]>
!b = !kern.weight<[111] x f32, unset, splits [37, 37, 37]>
module attributes {attn.name = "experts"} {
  kern.weight @w : !w = #weight.expr<file("w")>
  kern.weight @b : !b = #weight.expr<file("b")>
  kern.bounded_size @routed bound "2*rows"
  func.func @run(%g: !groups {attn.name = "groups", attn.role = "ids", attn.bound = 3 : i64},
                 %s: !scales {attn.name = "scales", attn.role = "data"},
                 %x: !x {attn.name = "x", attn.role = "data"}, %y: !y {attn.name = "y"})
      attributes {kern.inputs = 3 : i64, kern.symbols = ["routed", "rows"]} {
    %t = kern.alloc : !tokens
    %o = kern.alloc : !offsets
    %p = kern.alloc : !groups
    kern.group_tokens %g outs(%t, %o, %p) size @routed : !groups, !tokens, !offsets, !groups
    %r = kern.alloc : !packed
    kern.gather %x, %t outs(%r) : !x, !tokens, !packed
    %w = kern.get_weight @w : !w
    %b = kern.get_weight @b : !b
    %z = kern.alloc : !product
    kern.group_gemm %r, %w bias %b offsets %o outs(%z) : !packed, !w, !b, !offsets, !product
    kern.combine_groups %z, %p, %s outs(%y) : !product, !groups, !scales, !y
    return
  }
}
)mlir";

void LoweredModel::makeExperts() {
  name = "experts";
  weights.add("w", {111, 40}, 0.5);
  weights.add("b", {111}, 0.5);
  module = parseSourceString<ModuleOp>(expertsText, &context);
}

void LoweredModel::makeDecoder(uint64_t seed, bool hasSource) {
  name = hasSource ? "encoder-decoder" : "decoder";
  module = makeRandomDecoder(
      &context, seed,
      hasSource ? DecoderKind::EncoderDecoder : DecoderKind::Decoder, weights);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

std::string LoweredModel::plan() {
  planned = module->clone();
  setModuleOptions(*planned, options);
  PassManager passes(&context);
  if (name.substr(0, 7) == "experts") {
    passes.addPass(createChoosePrecisionPass());
    passes.addPass(createPackWeightsPass());
    passes.addPass(createFormPhasesPass());
    passes.addPass(createPlanMemoryPass());
  } else {
    for (Stage stage : {Stage::AttnOpt, Stage::Kern})
      populateStage(passes, stage, {});
  }
  return failed(passes.run(*planned)) ? "a pass failed" : "";
}

std::string LoweredModel::start() {
  if (std::string error = plan(); !error.empty())
    return error;
  LoweringEvents events;
  events.passDone = [&](const transom::PassInfo &pass, ModuleOp lowered) {
    if (pass.flag == lastPass)
      code = lowered.clone();
    return !code;
  };
  (void)lowerModule(*planned, isa, events); // stops there
  return code ? "" : "lowering failed";
}

/// Runs the passes after the edit.
static bool lowerToDialect(ModuleOp code) {
  PassManager passes(code.getContext());
  passes.enableVerifier(false);
  bool isAfter = false;
  for (const transom::PassInfo &pass : getPasses()) {
    if (isAfter)
      passes.addPass(pass.create({}));
    isAfter |= pass.flag == lastPass;
  }
  return succeeded(passes.run(code)) && succeeded(verify(code));
}

Result<void> LoweredModel::write(ModuleOp mutant) {
  OwningOpRef<ModuleOp> lowered(mutant.clone());
  if (failed(verify(*lowered)) || !lowerToDialect(*lowered))
    return rejected("the code is not valid");
  TRANSOM_ASSIGN(IsaModule code, translate(*lowered, *findInstructionSet(isa)));
  TRANSOM_TRY(optimize(code, options.optLevel));
  TRANSOM_ASSIGN(std::string object, emitCode(code, CodeKind::Object));
  TRANSOM_ASSIGN(ArtifactPlan plan, planArtifact(*planned));
  plan.manifest.compiler = "test";
  plan.manifest.dtype = options.dtype;
  TRANSOM_ASSIGN(ArtifactReport report,
                 writeArtifact(plan, {{isa, std::move(object)}}, weights, {},
                               options.output, {}));
  return {};
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

namespace {

/// Passes dispatches in some phases to a check, up to the first difference.
class SomeDispatches : public DispatchChecker {
public:
  SomeDispatches(CheckDispatches &checker, const Manifest &manifest,
                 const std::set<std::string> &phases)
      : checker(checker), manifest(manifest), phases(phases) {}

  void willRun(const SteppedDispatch &dispatch) override {
    if (isShown(dispatch))
      checker.willRun(dispatch);
  }
  void didRun(const SteppedDispatch &dispatch) override {
    if (!isShown(dispatch))
      return;
    checker.didRun(dispatch);
    ++count;
  }
  bool hasFailed() const override {
    return checker.hasFailed() || checker.hasDifferences();
  }

  int64_t count = 0;

private:
  bool isShown(const SteppedDispatch &dispatch) const {
    if (hasFailed())
      return false;
    const ManifestEntry &entry = *manifest.findEntry(dispatch.entry);
    if (phases.empty() || !entry.boundedSizes.empty() || dispatch.dispatch == 0)
      return true;
    const ManifestDispatch &own =
        entry.dispatches[size_t(entry.dispatchOrder[dispatch.dispatch])];
    return phases.count(getPhaseSymbol(dispatch.isa, own.phase, own.location));
  }

  CheckDispatches &checker;
  const Manifest &manifest;
  const std::set<std::string> &phases;
};

} // namespace

namespace {

/// Inspects nothing.
struct NoChecker : DispatchChecker {
  void willRun(const SteppedDispatch &) override {}
  void didRun(const SteppedDispatch &) override {}
  bool hasFailed() const override { return false; }
};

} // namespace

static Result<void>
stepThrough(const std::string &path, const tools::StepperOptions &calls,
            function_ref<Result<void>(tools::MachineStepper &)> use) {
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(path));
  TRANSOM_ASSIGN(tools::RunnableModels models,
                 tools::RunnableModels::load(path, file.manifest()));
  tools::MachineStepper stepper(models, file.manifest(), calls);
  return use(stepper);
}

Result<void> LoweredModel::step(const std::set<std::string> &phases,
                                CodeFinding &finding) {
  tools::StepperOptions calls;
  calls.lengths = tools::getDefaultLengths();
  return stepThrough(
      options.output, calls,
      [&](tools::MachineStepper &stepper) -> Result<void> {
        CheckDispatches checker(*planned, weights, stepper.getManifest());
        SomeDispatches some(checker, stepper.getManifest(), phases);
        TRANSOM_TRY(stepper.run(some));
        finding.dispatches = some.count;
        TRANSOM_ASSIGN(CodeVerification found, checker.take());
        if (!found.differences.empty())
          finding.difference = found.differences.front();
        return {};
      });
}

CodeFinding LoweredModel::check(ModuleOp mutant,
                                const std::set<std::string> &phases) {
  CodeFinding finding;
  Result<void> done = write(mutant);
  finding.isValid = static_cast<bool>(done);
  if (done)
    done = step(phases, finding);
  if (!done)
    finding.error = done.error().message;
  std::remove(options.output.c_str());
  return finding;
}

std::string LoweredModel::run(ModuleOp mutant, bool hasOtherSizes) {
  Result<void> done = write(mutant);
  for (unsigned workers :
       hasOtherSizes ? ArrayRef<unsigned>{2, 5} : ArrayRef<unsigned>{0}) {
    tools::StepperOptions calls;
    calls.workers = workers;
    calls.lengths =
        hasOtherSizes
            ? std::vector<int64_t>{1,  2,  3,  5,   15,  16,  17,  18,
                                   20, 23, 24, 25,  28,  30,  36,  48,
                                   63, 65, 96, 254, 258, 261, 270, 300}
            : tools::getDefaultLengths();
    NoChecker none;
    if (done)
      done = stepThrough(
          options.output, calls,
          [&](tools::MachineStepper &stepper) { return stepper.run(none); });
  }
  std::remove(options.output.c_str());
  return done ? "" : done.error().message;
}

} // namespace transom::testing
