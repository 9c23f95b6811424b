// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls on tensors, and decoder steps: prompts, chunks with a past, single
// tokens, and combinations in one batch.
#include "tools/commands/verify/MachineStepper.h"
#include "runtime/execute/Cpu.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

using namespace transom;
using namespace transom::tools;

/// GEMMs have a kernel for each row count up to this.
static constexpr int64_t mostKernelRows = 14;

std::vector<int64_t> tools::getDefaultLengths() {
  return {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,
          11, 12, 13, 14, 31, 32, 33, 255, 256, 257};
}

Result<RunnableModels> RunnableModels::load(const std::string &path,
                                            const Manifest &manifest) {
  const char *forced = getenv("TRANSOM_FORCE_ISA");
  TRANSOM_ASSIGN(const size_t first,
                 chooseIsa(manifest.isas, forced ? forced : "", path));
  std::vector<std::string> names{manifest.isas[first]};
  RunnableModels result;
  for (const std::string &isa : manifest.isas) {
    if (isa == names[0])
      continue;
    if (!chooseIsa(manifest.isas, isa, path))
      result.lacking.push_back(isa);
    else if (!forced)
      names.push_back(isa);
  }
  for (const std::string &isa : names) {
    TRANSOM_ASSIGN(std::unique_ptr<Model> model, Model::load(path, {isa}));
    result.models.push_back(std::move(model));
  }
  return Result<RunnableModels>(std::move(result));
}

//===----------------------------------------------------------------------===//
// Dispatches
//===----------------------------------------------------------------------===//

SteppedDispatch MachineStepper::describe(const ExecutorRun &run,
                                         int64_t dispatch) const {
  SteppedDispatch shown;
  shown.isa = model->isa().name;
  shown.entry = run.entry->name;
  shown.call = call;
  shown.dispatch = dispatch;
  shown.frame = run.frame;
  const Entry *entry = model->findEntry(run.entry->name);
  (void)entry->arenaBytes.evaluate(run.frame->symbols, shown.arenaBytes);
  shown.blocks = blocks;
  shown.blockBytes = blockBytes;
  return shown;
}

/// Returns the fill byte for uninitialized memory: large numbers, which show up
/// in sums and maxima, or NaNs, which persist through products with zero. This
/// detects code that reads such memory or writes zeros next to its results.
static int getUndefinedByte(int64_t call) { return call % 2 ? 0xff : 0x5f; }

void MachineStepper::willRun(const ExecutorRun &run, int64_t dispatch) {
  const SteppedDispatch shown = describe(run, dispatch);
  if (dispatch == 0)
    std::memset(run.frame->arena, getUndefinedByte(numCalls++),
                static_cast<size_t>(shown.arenaBytes));
  checker->willRun(shown);
}

void MachineStepper::didRun(const ExecutorRun &run, int64_t dispatch) {
  checker->didRun(describe(run, dispatch));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static std::string nameTokens(int64_t count) {
  return std::to_string(count) + (count == 1 ? " token" : " tokens");
}

unsigned MachineStepper::getWorkers(size_t call) const {
  // One worker, a few, and enough to split attention items.
  static constexpr unsigned numbers[] = {3, 1, 8};
  return options.workers ? options.workers : numbers[call % 3];
}

/// Masks all tokens in the middle sequence.
static void hideSequence(const Entry &entry, BitsCall &tensors) {
  for (size_t i = 0; i != tensors.size(); ++i) {
    BitsTensor &mask = tensors[i];
    if (entry.inputs[i].role != Role::Mask || mask.shape.size() != 2)
      continue;
    const auto bytes = size_t(mask.shape[1]) * transom_dtype_size(mask.dtype);
    std::memset(mask.bytes.data() + size_t(mask.shape[0] / 2) * bytes, 0,
                bytes);
  }
}

Result<void> MachineStepper::runTensors(const Entry &entry) {
  BitsWay way;
  way.observer = this;
  way.atEnd = true;
  BitsInputs inputs(*model, entry, random);
  std::set<int64_t> lengths;
  for (int64_t length : options.lengths)
    lengths.insert(inputs.getLongest(length));
  size_t count = 0;
  for (int64_t length : lengths) {
    call = "1 sequence of " + nameTokens(length);
    way.threads = getWorkers(count++);
    TRANSOM_TRY(runBits(*model, entry, inputs.make(1, length, false), way));
    if (checker->hasFailed())
      return {};
  }
  const int64_t length = inputs.getLongest(33);
  for (bool isEmpty : {false, true}) {
    if (isEmpty && (!inputs.hasMask() || checker->hasFailed()))
      break;
    BitsCall tensors =
        inputs.make(inputs.getLargestBatch(3), length, /*holes=*/true);
    call = std::to_string(inputs.getLargestBatch(3)) + " sequences of " +
           nameTokens(length) + (inputs.hasMask() ? ", some hidden" : "") +
           (isEmpty ? ", all of the second" : "");
    if (isEmpty)
      hideSequence(entry, tensors);
    way.threads = getWorkers(0);
    TRANSOM_TRY(runBits(*model, entry, tensors, way));
  }
  // GEMMs on pooled sequences have one row per sequence.
  for (int64_t batch = 2;
       batch <= inputs.getLargestBatch(mostKernelRows) && !checker->hasFailed();
       ++batch) {
    call = std::to_string(batch) + " sequences of " +
           nameTokens(inputs.getLongest(2));
    way.threads = getWorkers(static_cast<size_t>(batch));
    TRANSOM_TRY(runBits(*model, entry,
                        inputs.make(batch, inputs.getLongest(2), true), way));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Tokens after a prompt: a chunk, and single tokens.
static constexpr int64_t mostFollowing = 32;
static constexpr int64_t mostSequences = 4;
/// Prompt tokens with logits.
static constexpr int64_t mostLogits = 33;

Result<std::unique_ptr<Session>>
MachineStepper::createSession(int64_t longest, unsigned workers) {
  transom_session_options sizes = transom_session_options_default();
  sizes.max_batch = mostSequences;
  sizes.max_tokens = static_cast<uint64_t>(longest + mostFollowing);
  sizes.max_sequences = mostSequences;
  sizes.max_kv_tokens =
      static_cast<uint64_t>(mostSequences * (longest + mostFollowing + 256));
  TRANSOM_ASSIGN(SessionConfig config, SessionConfig::from(*model, &sizes));
  config.threads = workers;
  config.observer = this;
  config.arenaAtEnd = true;
  TRANSOM_ASSIGN(SessionLayout layout, SessionLayout::plan(*model, config));
  TRANSOM_ASSIGN(std::unique_ptr<Session> session,
                 Session::create(*model, config));
  char *memory =
      session->executor().getMapping() + layout.decode->blocks.offset;
  std::memset(memory, getUndefinedByte(workers), layout.decode->blocks.bytes);
  blocks = memory;
  blockBytes = static_cast<int64_t>(layout.decode->blocks.bytes);
  return Result<std::unique_ptr<Session>>(std::move(session));
}

Result<int32_t> MachineStepper::createSequence(DecodeEngine &decoder,
                                               int64_t length) {
  if (!decoder.hasSources())
    return decoder.create();
  const Entry *encoder = model->findEntry(manifest.decoder->encoder.c_str());
  int64_t bound = decoder.vocabulary();
  for (const Argument &input : encoder->inputs)
    if (input.role == Role::Ids)
      bound = input.bound.value_or(bound);
  std::vector<int64_t> ids, mask;
  for (int64_t i = 0; i != std::min(length, decoder.longestSource()); ++i) {
    ids.push_back(drawToken(bound));
    mask.push_back(i == 0 || drawToken(5) != 0);
  }
  const SourceInput source{ids.data(), mask.data(),
                           static_cast<int64_t>(ids.size())};
  call = "a source of " + nameTokens(source.columns);
  int32_t sequence = 0;
  TRANSOM_TRY(decoder.addSources(&source, 1, &sequence));
  return sequence;
}

/// Runs the step with logits for selected tokens, then rewinds it. About half
/// the columns are kept from the previous step.
Result<void>
MachineStepper::stepListed(DecodeEngine &decoder,
                           const std::vector<transom_step_input> &inputs,
                           const std::string &how) {
  constexpr int64_t mostTokens = 75;
  const int64_t most = std::min(decoder.maxListed(), mostTokens);
  if (most == 0)
    return {};
  const int64_t count = 1 + drawToken(most);
  listed.resize(size_t(count), -1);
  for (int64_t &token : listed)
    if (token < 0 || drawToken(2))
      token = drawToken(decoder.width());
  call = how + ", " + std::to_string(count) + " listed";
  std::vector<int64_t> before;
  for (const transom_step_input &input : inputs)
    before.push_back(decoder.length(input.sequence));
  TRANSOM_TRY(
      decoder.stepListed(inputs.data(), inputs.size(), {listed.data(), count}));
  for (size_t i = 0; i != inputs.size(); ++i)
    TRANSOM_TRY(decoder.rewind(inputs[i].sequence, before[i]));
  return {};
}

Result<void> MachineStepper::step(DecodeEngine &decoder,
                                  const std::vector<transom_step_input> &inputs,
                                  const std::string &how) {
  if (checker->hasFailed())
    return {};
  TRANSOM_TRY(stepListed(decoder, inputs, how));
  call = how;
  Result<StepLogits> done =
      decoder.step(inputs.data(), inputs.size(), LogitSummary::MaximaAndSums);
  return done ? Result<void>() : done.takeError();
}

/// Runs a step with several sequences, each with another past.
Result<void> MachineStepper::readTogether(DecodeEngine &decoder,
                                          int32_t sequence) {
  TRANSOM_ASSIGN(int32_t copy, decoder.copy(sequence));
  TRANSOM_ASSIGN(int32_t other, createSequence(decoder, 7));
  TRANSOM_TRY(step(decoder,
                   {{sequence, tokens.data(), 1, 1},
                    {copy, tokens.data() + 1, 2, 1},
                    {other, tokens.data() + 2, 9, 3}},
                   "a step of 3 sequences"));
  decoder.free(copy);
  decoder.free(other);
  return {};
}

/// Reads chunks with each row count, after the same past.
Result<void> MachineStepper::readChunks(DecodeEngine &decoder, int32_t sequence,
                                        int64_t past) {
  for (int64_t count = 2; count <= mostKernelRows; ++count) {
    // Copy the sequence, since a window may prevent a rewind.
    TRANSOM_ASSIGN(int32_t copy, decoder.copy(sequence));
    TRANSOM_TRY(step(decoder, {{copy, tokens.data(), count, 1}},
                     nameTokens(count) + " after " + std::to_string(past)));
    decoder.free(copy);
  }
  return {};
}

/// Reads a prompt with `length` tokens, and tokens after it.
Result<void> MachineStepper::readPrompt(DecodeEngine &decoder, int64_t length,
                                        int64_t chunk, bool hasAllChunks) {
  TRANSOM_ASSIGN(int32_t sequence, createSequence(decoder, length));
  TRANSOM_TRY(step(decoder,
                   {{sequence, tokens.data(), length,
                     std::min<int64_t>(length, mostLogits)}},
                   "a prompt of " + nameTokens(length)));
  if (hasAllChunks)
    TRANSOM_TRY(readChunks(decoder, sequence, length));
  TRANSOM_TRY(step(decoder, {{sequence, tokens.data(), chunk, 2}},
                   nameTokens(chunk) + " after " + std::to_string(length)));
  TRANSOM_TRY(step(decoder, {{sequence, tokens.data(), 1, 1}},
                   "1 token after " + std::to_string(length + chunk)));
  TRANSOM_TRY(readTogether(decoder, sequence));
  decoder.free(sequence);
  return {};
}

Result<void> MachineStepper::runSteps() {
  const int64_t context = manifest.decoder->context.value_or(INT64_MAX);
  const int64_t room = std::max<int64_t>(1, context - mostFollowing);
  std::set<int64_t> lengths;
  for (int64_t length : options.lengths)
    lengths.insert(std::min(length, room));
  const int64_t longest = *lengths.rbegin();
  tokens.clear();
  // A session has a fixed worker count, so lengths alternate between sessions;
  // the longest one runs in all of them.
  const size_t numSessions = options.workers ? 1 : 3;
  for (size_t i = 0; i != numSessions; ++i) {
    TRANSOM_ASSIGN(std::unique_ptr<Session> session,
                   createSession(longest, getWorkers(i)));
    DecodeEngine &decoder = *session->decoder();
    while (tokens.size() != static_cast<size_t>(longest + mostFollowing))
      tokens.push_back(drawToken(decoder.vocabulary()));
    size_t count = 0;
    for (int64_t length : lengths) {
      const size_t number = count++;
      if ((number % numSessions != i && length != longest) ||
          checker->hasFailed())
        continue;
      const auto chunk =
          2 + static_cast<int64_t>(number) % (mostKernelRows - 1);
      TRANSOM_TRY(readPrompt(decoder, length, chunk, length == longest));
    }
    blocks = nullptr;
    blockBytes = 0;
  }
  return {};
}

Result<void> MachineStepper::run(DispatchChecker &watching) {
  checker = &watching;
  for (const auto &each : models.models) {
    model = each.get();
    random.seed(static_cast<uint32_t>(options.seed));
    for (const Entry &entry : model->entries())
      if (!entry.isDerived() && !entry.isStep() && !entry.isSource())
        TRANSOM_TRY(runTensors(entry));
    if (model->findEntry(EntryKind::Step) && manifest.decoder)
      TRANSOM_TRY(runSteps());
  }
  return {};
}
