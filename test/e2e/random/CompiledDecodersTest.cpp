// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random decoders, compiled: they return the evaluator's results, with the same
// bits for all chunks, batch neighbours, copies and thread counts.
#include "compiler/driver/CompileModule.h"
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/pipeline/Pipeline.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/include/transom/transom.h"
#include "test/compiler/evaluator/Compare.h"
#include "test/e2e/random/CompiledModel.h"
#include "test/e2e/random/DecoderModel.h"
#include "test/e2e/random/Seeds.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

namespace {

/// f32 against float64; in bf16 a difference may tip a rounding.
constexpr double compiledF32 = 5e-4, compiledBf16 = 0.05;

/// Logits by sequence, row after row.
using Logits = std::vector<std::vector<double>>;

/// Runs the steps in an artifact through the C API.
class CompiledDecoder {
public:
  CompiledDecoder() = default;
  CompiledDecoder(const CompiledDecoder &) = delete;
  ~CompiledDecoder() {
    transom_session_free(session);
    transom_model_free(model);
  }

  /// Loads the artifact; the error, or empty.
  std::string load(const std::string &path, const std::string &isa,
                   unsigned threads, uint64_t maxTokens);
  /// Computes the logits for all tokens in all sequences, in one call per
  /// sequence (`random` null) or in chunks, with copies and rewinds. Returns
  /// the error, or an empty string.
  std::string run(const std::vector<Tokens> &sequences, Random *random,
                  Logits &logits);

private:
  std::string step(const std::vector<Tokens> &sequences,
                   const std::vector<SequenceRows> &rows, Logits &logits);
  std::string disturb(Random &random, size_t sequence,
                      std::vector<int64_t> &lengths, Logits &logits);

  transom_model *model = nullptr;
  transom_session *session = nullptr;
  std::vector<int32_t> handles;
  int64_t width = 0;
};

std::string failureIn(const char *call) {
  return std::string(call) + ": " + transom_last_error();
}

std::string CompiledDecoder::load(const std::string &path,
                                  const std::string &isa, unsigned threads,
                                  uint64_t maxTokens) {
  ::setenv("TRANSOM_FORCE_ISA", isa.c_str(), 1);
  transom_status status = transom_model_load(path.c_str(), nullptr, &model);
  ::unsetenv("TRANSOM_FORCE_ISA");
  if (status != TRANSOM_STATUS_OK)
    return failureIn("load");
  transom_session_options options = transom_session_options_default();
  options.threads = threads;
  options.max_sequences = 6;
  options.max_kv_tokens = 6 * 600;
  options.max_tokens = maxTokens;
  if (transom_session_create(model, &options, &session) != TRANSOM_STATUS_OK)
    return failureIn("session");
  transom_decoder_info info = transom_decoder_info_default();
  if (transom_session_get_decoder(session, &info) != TRANSOM_STATUS_OK)
    return failureIn("decoder");
  width = info.width;
  return {};
}

std::string CompiledDecoder::step(const std::vector<Tokens> &sequences,
                                  const std::vector<SequenceRows> &rows,
                                  Logits &logits) {
  std::vector<transom_step_input> inputs;
  int64_t count = 0;
  for (const SequenceRows &row : rows) {
    inputs.push_back({handles[row.sequence],
                      sequences[row.sequence].data() + row.past, row.rows,
                      row.rows});
    count += row.rows;
  }
  std::vector<float> out(count * width, NAN);
  if (transom_session_step(session, inputs.data(), inputs.size(), out.data(),
                           out.size() * sizeof(float)) != TRANSOM_STATUS_OK)
    return failureIn("step");
  auto next = out.begin();
  for (const SequenceRows &row : rows) {
    logits[row.sequence].insert(logits[row.sequence].end(), next,
                                next + row.rows * width);
    next += row.rows * width;
  }
  return {};
}

/// Continues with a copy instead of a sequence, or drops its last tokens.
std::string CompiledDecoder::disturb(Random &random, size_t sequence,
                                     std::vector<int64_t> &lengths,
                                     Logits &logits) {
  if (random.chance(50)) {
    int32_t copy = 0;
    if (transom_sequence_copy(session, handles[sequence], &copy) !=
        TRANSOM_STATUS_OK)
      return failureIn("copy");
    if (transom_sequence_free(session, handles[sequence]) != TRANSOM_STATUS_OK)
      return failureIn("free");
    handles[sequence] = copy;
    return {};
  }
  int64_t length = random.below(lengths[sequence] + 1);
  transom_status status =
      transom_sequence_rewind(session, handles[sequence], length);
  if (status == TRANSOM_STATUS_LIMIT)
    return {}; // a window has evicted visible tokens
  if (status != TRANSOM_STATUS_OK)
    return failureIn("rewind");
  lengths[sequence] = length;
  logits[sequence].resize(length * width);
  return {};
}

std::string CompiledDecoder::run(const std::vector<Tokens> &sequences,
                                 Random *random, Logits &logits) {
  // Create a sequence for each input.
  logits.assign(sequences.size(), {});
  handles.assign(sequences.size(), 0);
  for (int32_t &handle : handles)
    if (transom_sequence_create(session, &handle) != TRANSOM_STATUS_OK)
      return failureIn("create");
  std::vector<int64_t> lengths(sequences.size());
  std::string error;
  // Without a random generator each sequence is one call.
  for (size_t s = 0; !random && error.empty() && s < sequences.size(); ++s)
    error = step(sequences,
                 {{static_cast<int64_t>(s), 0,
                   static_cast<int64_t>(sequences[s].size())}},
                 logits);
  // Otherwise random chunks, sometimes with a disturbance between calls.
  while (random && error.empty() && !isDone(sequences, lengths)) {
    std::vector<SequenceRows> rows = drawRows(*random, sequences, lengths);
    if (rows.empty())
      continue;
    error = step(sequences, rows, logits);
    for (const SequenceRows &row : rows)
      lengths[row.sequence] += row.rows;
    if (error.empty() && random->chance(15))
      error =
          disturb(*random, random->below(sequences.size()), lengths, logits);
  }
  for (int32_t handle : handles)
    transom_sequence_free(session, handle);
  return error;
}

/// The kernels that the compiler plans for the model.
Result<OwningOpRef<ModuleOp>> planKernels(DecoderModel &model) {
  OwningOpRef<ModuleOp> module(model.module->clone());
  model.setTypes(*module);
  PassManager passes(&model.context);
  for (Stage stage : {Stage::AttnOpt, Stage::Kern})
    populateStage(passes, stage, {});
  if (failed(passes.run(*module)))
    return internalError("a pass failed");
  return module;
}

/// Evaluates the logits for all sequences in a domain.
Result<Logits> evaluateLogits(const DecoderModel &model, ModuleOp module,
                              Domain *domain) {
  EvaluateOptions options = model.options;
  options.domain = domain;
  TRANSOM_ASSIGN(auto result,
                 evaluateCase(module, makeWholeStep(model.sequences), options));
  Logits logits;
  std::vector<double> reals = result[0].tensor.getReals();
  auto next = reals.begin();
  for (const Tokens &tokens : model.sequences) {
    auto end = next + tokens.size() * model.vocabulary;
    logits.emplace_back(next, end);
    next = end;
  }
  return logits;
}

/// Expected results: in float64, rounded as the kernels do, and bit by bit.
struct Expected {
  Logits real;
  /// By `dotBf16` and `amx`.
  std::map<std::pair<bool, bool>, Logits> bits;

  static std::pair<bool, bool> getKind(const InstructionSet &isa) {
    return {isa.dotBf16, isa.amx};
  }
};

Result<Expected> expectLogits(DecoderModel &model,
                              ArrayRef<const InstructionSet *> isas) {
  TRANSOM_ASSIGN(OwningOpRef<ModuleOp> planned, planKernels(model));
  Expected expected;
  TRANSOM_ASSIGN(expected.real,
                 evaluateLogits(model,
                                model.rounds() ? *planned : *model.module,
                                nullptr));
  for (const InstructionSet *isa : isas) {
    Bits bits(*isa);
    if (expected.bits.count(Expected::getKind(*isa)))
      continue;
    TRANSOM_ASSIGN(expected.bits[Expected::getKind(*isa)],
                   evaluateLogits(model, *planned, &bits));
  }
  return expected;
}

/// Compares the logits for each sequence as tensors.
std::string compareLogits(const Logits &got, const Logits &expected,
                          llvm::function_ref<std::string(ArrayRef<NamedTensor>,
                                                         ArrayRef<NamedTensor>)>
                              compare) {
  for (size_t s = 0; s < expected.size(); ++s) {
    Sizes sizes = {static_cast<int64_t>(expected[s].size())};
    if (got[s].size() != expected[s].size())
      return "sequence " + std::to_string(s) + " has another length";
    std::string difference =
        compare({{"logits", Tensor::of(sizes, got[s])}},
                {{"logits", Tensor::of(sizes, expected[s])}});
    if (!difference.empty())
      return "sequence " + std::to_string(s) + ": " + difference;
  }
  return {};
}

std::string getDifference(const Logits &got, const Logits &expected,
                          double tolerance) {
  return compareLogits(
      got, expected,
      [&](ArrayRef<NamedTensor> own, ArrayRef<NamedTensor> reference) {
        return transom::testing::getDifference(own, reference, tolerance);
      });
}

std::string getBitDifference(const Logits &got, const Logits &expected) {
  return compareLogits(
      got, expected,
      [](ArrayRef<NamedTensor> own, ArrayRef<NamedTensor> reference) {
        return transom::testing::getBitDifference(own, reference);
      });
}

/// Returns the first error in the logits from an artifact's first run.
std::string checkFirst(const DecoderModel &model, const Logits &logits,
                       const Expected &expected, const InstructionSet &isa) {
  std::string error = getDifference(
      logits, expected.real, model.rounds() ? compiledBf16 : compiledF32);
  if (!error.empty())
    return error;
  error = getBitDifference(logits, expected.bits.at(Expected::getKind(isa)));
  return error.empty() ? "" : "in bits: " + error;
}

/// All ways to run an artifact with one instruction set.
std::string checkIsa(DecoderModel &model, const std::string &path,
                     const InstructionSet &isa, const Expected &expected) {
  Logits first;
  for (unsigned way = 0; way < 4; ++way) {
    CompiledDecoder decoder;
    std::string error =
        decoder.load(path, isa.name, 1 + way % 2, way == 3 ? 5 : 64);
    Logits logits;
    if (error.empty())
      error =
          decoder.run(model.sequences, way ? &model.random : nullptr, logits);
    if (error.empty())
      error = way ? getBitDifference(logits, first)
                  : checkFirst(model, logits, expected, isa);
    if (!error.empty())
      return std::string(isa.name) + ", way " + std::to_string(way) + ": " +
             error;
    if (way == 0)
      first = std::move(logits);
  }
  return {};
}

/// Returns the first error for one seed.
std::string checkCompiled(uint64_t seed) {
  DecoderModel model(seed, DecoderKind::Decoder);
  CompileOptions options;
  options.dtype = model.dtype;
  options.kvDtype = model.kvDtype;
  options.optLevel = seed % 8 == 3 ? 2 : 0; // LLVM takes most of the time
  bool wide = CompiledModel::runsHere("avx512") && seed % 2 == 0;
  options.targets = {wide ? "x86-64-v4" : "x86-64-v3"};
  std::vector<const InstructionSet *> isas;
  for (const InstructionSet &isa : getInstructionSets())
    if (isa.target == options.targets.front() && isa.isFor({model.hasBf16()}) &&
        isa.runsHere())
      isas.push_back(&isa);
  auto expected = expectLogits(model, isas);
  if (!expected)
    return expected.error().message;
  options.output = ::testing::TempDir() + "/decoder-" + std::to_string(seed) +
                   "-" + std::to_string(::getpid()) + ".so";
  auto report = compileModule(*model.module, model.weights, options);
  if (!report)
    return "compile: " + report.error().message;
  std::string complaint;
  for (const InstructionSet *isa : isas)
    if (complaint.empty())
      complaint = checkIsa(model, options.output, *isa, *expected);
  std::remove(options.output.c_str());
  return complaint;
}

class CompiledRandomDecoders : public ::testing::TestWithParam<Seeds> {};

TEST_P(CompiledRandomDecoders, giveTheResultsOfTheEvaluator) {
  for (int64_t seed = GetParam().first; seed < GetParam().end; ++seed)
    EXPECT_EQ(checkCompiled(seed), "") << "seed " << seed;
}

INSTANTIATE_TEST_SUITE_P(From, CompiledRandomDecoders,
                         ::testing::ValuesIn(groupSeeds(16, 8)),
                         nameByFirstSeed);

} // namespace
