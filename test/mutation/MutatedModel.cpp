// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models, their calls, and the check for one mutant.
#include "test/mutation/MutatedModel.h"
#include "compiler/pipeline/Register.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "test/e2e/random/RandomDecoder.h"
#include <numeric>

using namespace mlir;

namespace transom::testing {

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// The columns in a call.
static int64_t getLength(const std::vector<NamedTensor> &inputs) {
  int64_t length = 0;
  for (const NamedTensor &input : inputs)
    if (input.tensor.sizes.size() > 1 && input.name != "memory")
      length = std::max(length, input.tensor.sizes[1]);
  return length;
}

void MutatedModel::makeGraph(uint64_t seed) {
  module = makeRandomModule(&context);
  addRandomGraph(*module, seed, weights,
                 seed % 4 == 1   ? GraphKind::Positions
                 : seed % 4 == 3 ? GraphKind::Pipelines
                                 : GraphKind::Any);
  std::string entry = "g" + std::to_string(seed);
  // Two calls with a few columns; then more columns, and two key panels.
  bool hasLong = false;
  for (uint64_t i = 0; i < 200 && (many.size() < 8 || !hasLong); ++i) {
    auto inputs = randomInputs(*module, entry, seed * 1000 + i, Lengths::Short);
    const int64_t length = getLength(inputs);
    if (length >= 4 && length <= 9 && few.size() < 2)
      few.push_back({{entry, inputs, {}}});
    else if (length <= 9 ? many.size() < 8 : !hasLong)
      many.push_back({{entry, inputs, {}}});
    hasLong |= length > 32;
  }
}

//===----------------------------------------------------------------------===//
// Decoders
//===----------------------------------------------------------------------===//

namespace {

/// Decoder calls for sequences with random tokens.
class DecoderCalls {
public:
  DecoderCalls(uint64_t seed, int64_t vocabulary) : random(seed) {
    for (auto &tokens : sequences)
      for (int64_t i = 0; i < 600; ++i)
        tokens.push_back(random.below(vocabulary));
  }

  /// New rows for sequences, with all their logits.
  VerifyCall step(std::vector<SequenceRows> rows) const {
    std::vector<int64_t> tokens;
    for (const SequenceRows &row : rows)
      tokens.insert(tokens.end(), sequences[row.sequence].begin() + row.past,
                    sequences[row.sequence].begin() + row.past + row.rows);
    std::vector<int64_t> all(tokens.size());
    std::iota(all.begin(), all.end(), 0);
    auto count = static_cast<int64_t>(tokens.size());
    return {"step",
            {{"tokens", Tensor::of({count}, tokens)},
             {"wanted", Tensor::of({count}, all)}},
            std::move(rows)};
  }

private:
  Random random;
  std::array<std::vector<int64_t>, 3> sequences;
};

} // namespace

void MutatedModel::makeDecoder(uint64_t seed) {
  module = makeRandomDecoder(&context, seed, DecoderKind::Decoder, weights);
  DecoderCalls calls(seed, getVocabulary(*module));
  few = {{calls.step({{0, 0, 6}, {1, 0, 1}, {2, 0, 9}})},
         // Chunks, and a rewind in the first sequence.
         {calls.step({{1, 0, 3}, {0, 0, 5}}),
          calls.step({{0, 5, 1}, {1, 3, 4}}),
          calls.step({{0, 2, 3}, {1, 7, 2}})}};
  many = {{calls.step({{0, 0, 35}, {1, 0, 24}})},
          {calls.step({{0, 0, 30}}), calls.step({{0, 30, 5}, {1, 0, 34}}),
           calls.step({{1, 20, 3}, {0, 33, 2}})},
          // More than one key block, and more than the longest window.
          {calls.step({{0, 0, 262}}), calls.step({{0, 262, 2}})}};
}

// A step reads source data from caches, so sources come first.
void MutatedModel::makeEncoderDecoder(uint64_t seed) {
  module =
      makeRandomDecoder(&context, seed, DecoderKind::EncoderDecoder, weights);
  for (auto [lengths, calls] : {std::pair(CallLengths::Short, &few),
                                std::pair(CallLengths::Panel, &many)})
    if (auto made = makeCalls(*module, lengths))
      *calls = std::move(*made);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

void MutatedModel::prepareContext() {
  DialectRegistry registry;
  registerTransomDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.getDiagEngine().registerHandler(
      [](Diagnostic &) { return success(); });
}

MutatedModel::MutatedModel(uint64_t seed) {
  prepareContext();
  const bool isDecoder = seed % 3 == 2;
  if (isDecoder && seed % 2 == 0)
    makeEncoderDecoder(seed);
  else if (isDecoder)
    makeDecoder(seed);
  else
    makeGraph(seed);
  options.source = &weights;
  chooseOptions(seed, isDecoder);
}

MutatedModel::MutatedModel(const ModelText &text, uint64_t seed)
    : shapes(text.shapes) {
  prepareContext();
  module = parseSourceString<ModuleOp>(text.module, &context);
  options.source = &shapeSource.emplace(shapes);
  for (auto [lengths, calls] : {std::pair(CallLengths::Short, &few),
                                std::pair(CallLengths::Panel, &many)})
    if (auto made = makeCalls(*module, lengths))
      *calls = std::move(*made);
  const bool isDecoder = llvm::any_of(few, [](const VerifyCase &test) {
    return !test.back().sequences.empty();
  });
  chooseOptions(seed, isDecoder);
}

void MutatedModel::chooseOptions(uint64_t seed, bool isDecoder) {
  options.keyText = "mutants " + std::to_string(seed);
  Random random(seed ^ 0x3e7a);
  auto ask = [&](const char *name, Attribute value) {
    (*module)->setAttr(name, value);
  };
  if (!isDecoder && random.chance(15))
    passes.backend = Backend::OneDnn;
  if (passes.backend == Backend::Native && random.chance(30)) {
    rounds = true;
    ask("transom.dtype", StringAttr::get(&context, "bf16"));
  }
  if (isDecoder && random.chance(40)) {
    rounds = true;
    ask("transom.kv_dtype",
        StringAttr::get(&context, random.pick({"bf16", "int8"})));
  }
  if (random.chance(20)) {
    kern::AttentionSchedule schedule;
    schedule.kind = kern::AttentionSchedule::Kind::SplitKv;
    ask("transom.attention_schedule",
        kern::ScheduleAttr::get(&context, schedule));
  }
  original = module->clone();
}

/// The dimension size if it is constant, else 0.
static int64_t getConstantSize(Value tensor, int64_t fromEnd) {
  auto dims = attn::getSymbolicShape(tensor.getType());
  return dims[dims.size() - fromEnd].constant().value_or(0);
}

bool MutatedModel::hidesBugs() {
  bool hides = few.size() < 2;
  module->walk([&](Operation *op) {
    if (auto cast = dyn_cast<attn::CastOp>(op))
      hides |= cast.getTo().isInteger(1) &&
               isa<FloatType>(getElementTypeOrSelf(cast.getInput()));
    if (auto softmax = dyn_cast<attn::SoftmaxOp>(op))
      hides |= getConstantSize(softmax.getInput(), 1) == 1;
    if (auto sdpa = dyn_cast<attn::SdpaOp>(op))
      hides |= sdpa.getWindow() == 1 || getConstantSize(sdpa.getKey(), 2) == 1;
  });
  return hides;
}

Result<void> MutatedModel::addVerifier(Rounding rounding,
                                       const VerifyCase &test) {
  PassVerifierOptions own = options;
  own.rounding = rounding;
  verifiers.push_back(
      std::make_unique<PassVerifier>(own, std::vector<VerifyCase>{test}));
  return verifiers.back()->start(*module);
}

Result<void> MutatedModel::start() {
  for (const VerifyCase &test : few)
    TRANSOM_TRY(addVerifier(Rounding::Erased, test));
  return rounds ? addVerifier(Rounding::Opaque, few.front()) : Result<void>();
}

Result<bool> MutatedModel::runPass(const PassInfo &pass) {
  PassManager manager(&context);
  manager.addPass(pass.create(passes));
  OperationFingerPrint before(*module);
  if (failed(manager.run(*module)))
    return rejected("pass '" + pass.flag.str() + "' failed");
  if (before == OperationFingerPrint(*module))
    return false;
  // Later passes must preserve roundings and results that a pass adds.
  const bool addsResults = pass.flag == "attn-summarize-logits";
  if (!addsResults && pass.flag != "kern-choose-precision")
    return true;
  for (const auto &verifier : verifiers)
    if (auto difference = verifier->check(*module, pass.flag))
      return rejected(difference->str());
  if (addsResults)
    original = module->clone();
  return true;
}

/// The message from a verifier's comparison.
static Finding toFinding(const std::string &text) {
  if (text.empty())
    return {};
  const bool isResult = StringRef(text).contains("' differs in ") ||
                        StringRef(text).ends_with("' is missing") ||
                        StringRef(text).ends_with("' has another shape");
  return {isResult ? Finder::Residues : Finder::Evaluator, text};
}

Finding MutatedModel::check(ModuleOp mutant) {
  if (failed(verify(mutant)))
    return {Finder::Verifier, "the module is not valid"};
  for (const auto &verifier : verifiers)
    if (std::string text = verifier->findDifference(mutant); !text.empty())
      return toFinding(text);
  for (const VerifyCase &test : many) {
    PassVerifier verifier(options, {test});
    if (Result<void> started = verifier.start(*original); !started)
      return {Finder::Evaluator, started.error().message};
    if (std::string text = verifier.findDifference(mutant); !text.empty())
      return toFinding(text);
  }
  return {};
}

} // namespace transom::testing
