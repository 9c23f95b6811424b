// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step checks its inputs, reserves blocks, then runs its chunks in batches.
// Lengths change at the end, so a step that is cancelled between two runs does
// not change the sequences.
#include "runtime/decode/DecodeEngine.h"
#include "runtime/abi/RowSummary.h"
#include "runtime/base/Finally.h"
#include "runtime/kvcache/KvFile.h"

using namespace transom;

/// Locates the cache memory.
static KvStorage getStorage(const Executor &executor,
                            const DecodeLayout &layout) {
  return {executor.at<int64_t>(layout.lengths),
          executor.at<int64_t>(layout.firstBlocks),
          executor.at<char *>(layout.blockTables),
          executor.at<uint32_t>(layout.refCounts),
          executor.at<uint32_t>(layout.freeBlocks),
          executor.at<uint32_t>(layout.usedPositions),
          executor.at<transom_kv_cache>(layout.caches),
          executor.getMapping() + layout.blocks.offset};
}

DecodeEngine::DecodeEngine(Executor &executor, const DecodeLayout &layout)
    : executor(executor), entry(*executor.program().findEntry(EntryKind::Step)),
      regions(executor.getLayout(entry)), layout(layout),
      cache(layout.plan, getStorage(executor, layout)),
      digest(cacheDigest(executor.program().manifest())) {
  const RaggedBatchLayout &table = regions.tables[0];
  ragged.sequences = executor.at<transom_sequence>(table.sequences);
  ragged.token_sequence = executor.at<int32_t>(table.tokenSequence);
  ragged.token_column = executor.at<int32_t>(table.tokenColumn);
  ragged.token_key = executor.at<int64_t>(table.tokenKey);
  copies.reserve(size_t(layout.plan.sequences) * layout.plan.groups.size());
  if (executor.program().findEntry(EntryKind::Source))
    sources.emplace(executor, layout, cache);
}

std::optional<int64_t> DecodeEngine::context() const {
  return executor.program().manifest().decoder->context;
}

int64_t DecodeEngine::vocabulary() const {
  return executor.program().manifest().decoder->vocabulary;
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static Error makeUnknownSequenceError(int32_t sequence) {
  return usageError("sequence " + std::to_string(sequence) + " does not exist");
}

Result<int32_t> DecodeEngine::create() { return cache.create(); }

void DecodeEngine::free(int32_t sequence) { cache.free(sequence); }

Result<int32_t> DecodeEngine::copy(int32_t sequence) {
  if (!cache.exists(sequence))
    return makeUnknownSequenceError(sequence);
  return cache.copy(sequence);
}

Result<void> DecodeEngine::rewind(int32_t sequence, int64_t length) {
  if (!cache.exists(sequence))
    return makeUnknownSequenceError(sequence);
  if (length < 0 || length > cache.length(sequence))
    return usageError("cannot rewind sequence " + std::to_string(sequence) +
                      " of " + std::to_string(cache.length(sequence)) +
                      " positions to " + std::to_string(length));
  return cache.rewind(sequence, length);
}

int64_t DecodeEngine::length(int32_t sequence) const {
  return cache.length(sequence);
}

Result<void> DecodeEngine::addSources(const SourceInput *inputs, size_t count,
                                      int32_t *sequences) {
  if (!sources)
    return usageError(
        "the model has no encoder, its sequences have no sources");
  return sources->add(inputs, count, sequences);
}

Result<char *const *> DecodeEngine::fillReadOnly(int32_t sequence, size_t group,
                                                 int64_t positions) {
  if (!cache.exists(sequence))
    return makeUnknownSequenceError(sequence);
  TRANSOM_TRY(cache.fillReadOnly(sequence, group, positions));
  return cache.caches()[group].block_table + cache.getFirstTableEntry(sequence);
}

Result<void> DecodeEngine::save(int32_t sequence, const char *path) const {
  if (!cache.exists(sequence))
    return makeUnknownSequenceError(sequence);
  return saveSequence(cache, sequence, digest, path);
}

Result<int32_t> DecodeEngine::load(const char *path) {
  return loadSequence(cache, digest, path);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static std::string getName(const StepInput &input) {
  return "sequence " + std::to_string(input.sequence);
}

/// Checks that a sequence has keys in all read-only groups.
Result<void> DecodeEngine::checkReadOnly(const StepInput &input) const {
  for (const RaggedBatchRule &rule : entry.ragged)
    if (rule.cacheGroup &&
        cache.readOnlyLength(input.sequence, size_t(*rule.cacheGroup)) == 0)
      return usageError(getName(input) +
                        " has no positions in the read-only cache " +
                        std::to_string(*rule.cacheGroup) +
                        ", which is filled before the first step");
  return {};
}

/// Checks input `index` against its sequence and the preceding inputs.
Result<void> DecodeEngine::checkInput(const StepInput *inputs,
                                      size_t index) const {
  const StepInput &input = inputs[index];
  if (!cache.exists(input.sequence))
    return makeUnknownSequenceError(input.sequence);
  for (size_t i = 0; i != index; ++i)
    if (inputs[i].sequence == input.sequence)
      return rejected(getName(input) + " occurs twice in a step");
  if (input.num_tokens < 1 || input.num_logits < 0 ||
      input.num_logits > input.num_tokens || !input.tokens)
    return rejected("a step has " + std::to_string(input.num_tokens) +
                    " new tokens for " + getName(input) +
                    " and wants logits of " + std::to_string(input.num_logits) +
                    "; it takes 1 or more tokens and gives 0 up to all");
  TRANSOM_TRY(checkReadOnly(input));
  TRANSOM_TRY(checkLength(input));
  for (int64_t i = 0; i != input.num_tokens; ++i)
    if (input.tokens[i] < 0 || input.tokens[i] >= vocabulary())
      return rejected("token " + std::to_string(i) + " for " + getName(input) +
                      " is " + std::to_string(input.tokens[i]) +
                      "; ids of this model are 0 to " +
                      std::to_string(vocabulary() - 1));
  return {};
}

/// Checks a sequence's new length. This precedes reading the tokens, because a
/// wrong token count may exceed the caller's array.
Result<void> DecodeEngine::checkLength(const StepInput &input) const {
  int64_t past = cache.length(input.sequence);
  if (input.num_tokens <= longest() - past)
    return {};
  std::string text = getName(input) + " has " + std::to_string(past) +
                     " positions and would get " +
                     std::to_string(input.num_tokens) + " more, over the ";
  if (context() && input.num_tokens > *context() - past)
    return limitError(text + "model's context of " +
                      std::to_string(*context()));
  return limitError(text + std::to_string(longest()) +
                    " that the cache holds of one sequence; a session with a "
                    "larger max_kv_tokens holds more");
}

Result<void> DecodeEngine::check(const StepInput *inputs, size_t count) const {
  if (count == 0)
    return rejected("a step without a sequence");
  for (size_t i = 0; i != count; ++i)
    TRANSOM_TRY(checkInput(inputs, i));
  return {};
}

StepCutter DecodeEngine::cut(const StepInput *inputs, size_t count) const {
  int64_t maxTokens = executor.config().maxTokens;
  return StepCutter(inputs, count, maxTokens, std::min(maxTokens, maxLogits()));
}

Result<void> DecodeEngine::checkRoom(int64_t positions) {
  TRANSOM_ASSIGN(int32_t sequence, create());
  const Finally release([&] { free(sequence); });
  StepInput input{sequence, nullptr, positions, 0};
  TRANSOM_TRY(checkLength(input));
  return cache.reserve(cut(&input, 1));
}

Result<const float *> DecodeEngine::step(const StepInput *inputs,
                                         size_t count) {
  TRANSOM_ASSIGN(StepLogits out, step(inputs, count, LogitSummary::None));
  return static_cast<const float *>(out.logits);
}

Result<StepLogits> DecodeEngine::step(const StepInput *inputs, size_t count,
                                      LogitSummary summary) {
  int64_t all = 0;
  for (size_t i = 0; i != count; ++i)
    if (__builtin_add_overflow(all, inputs[i].num_logits, &all))
      all = INT64_MAX;
  if (all > maxLogits())
    return limitError("a step wants the logits of " + std::to_string(all) +
                      " tokens, the session holds those of " +
                      std::to_string(maxLogits()));
  StepLogits out{executor.at<float>(layout.logits)};
  if (entry.hasSummary && summary != LogitSummary::None)
    out.maxima = executor.at<float>(layout.maxima);
  if (entry.hasSummary && summary == LogitSummary::MaximaAndSums)
    out.sums = executor.at<float>(layout.sums);
  TRANSOM_TRY(runStep(inputs, count, out));
  return out;
}

int64_t DecodeEngine::maxListed() const {
  return entry.listedSymbol ? *entry.maxima[size_t(*entry.listedSymbol)] : 0;
}

Result<const float *> DecodeEngine::stepListed(const StepInput *inputs,
                                               size_t count,
                                               const ListedTokens &given) {
  if (!entry.listedSymbol)
    return usageError("the model gives no logits of listed tokens");
  if (given.count < 1 || given.count > maxListed())
    return usageError("a step lists " + std::to_string(given.count) +
                      " tokens; it takes 1 to " + std::to_string(maxListed()));
  for (int64_t i = 0; i != given.count; ++i)
    if (given.ids[i] < 0 || given.ids[i] >= width())
      return rejected("listed token " + std::to_string(i) + " is " +
                      std::to_string(given.ids[i]) + "; ids are 0 to " +
                      std::to_string(width() - 1));
  listed = given;
  const Finally reset([&] { listed = {}; });
  return step(inputs, count);
}

Result<void> DecodeEngine::stepInto(const StepInput *inputs, size_t count,
                                    float *logits) {
  return runStep(inputs, count, {logits});
}

Result<void> DecodeEngine::runStep(const StepInput *inputs, size_t count,
                                   StepLogits out) {
  TRANSOM_TRY(executor.takeCancel());
  TRANSOM_TRY(check(inputs, count));
  StepCutter cutter = cut(inputs, count);
  TRANSOM_TRY(cache.reserve(cutter));
  bool isDone = false;
  const Finally undo([&] {
    if (isDone)
      return;
    copies.clear();
    for (size_t i = 0; i != count; ++i)
      cache.rollBack(inputs[i].sequence);
  });
  TRANSOM_TRY(runChunks(cutter, out));
  isDone = true;
  return {};
}

void DecodeEngine::clearBatch() {
  ragged.num_sequences = ragged.num_tokens = numLogits = longestKeys = 0;
}

Result<void> DecodeEngine::runChunks(StepCutter cutter, StepLogits out) {
  // Collect chunks into a ragged batch and run it when the next one starts.
  clearBatch();
  StepCutter again = cutter;
  StepChunk chunk;
  while (cutter.next(chunk)) {
    if (chunk.startsRun && ragged.num_tokens)
      TRANSOM_TRY(runBatch(out));
    const StepInput &input = cutter[chunk.index];
    cache.extend(input.sequence, cache.length(input.sequence) + chunk.offset,
                 chunk.count, &copies);
    addChunk(input, chunk);
  }
  TRANSOM_TRY(runBatch(out));

  // The last chunk of each sequence sets its length.
  while (again.next(chunk))
    if (const StepInput &input = again[chunk.index];
        chunk.offset + chunk.count == input.num_tokens) {
      int64_t past = cache.length(input.sequence);
      cache.commit(input.sequence, past + input.num_tokens,
                   past + chunk.offset);
    }
  return {};
}

/// Adds one sequence's tokens to the next run's ragged batch.
void DecodeEngine::addChunk(const StepInput &input, const StepChunk &chunk) {
  const RaggedBatchLayout &table = regions.tables[0];
  auto *tokens = executor.at<int64_t>(regions.inputs[0]);
  auto *logitTokens = executor.at<int64_t>(regions.inputs[1]);
  auto *sequence = executor.at<int32_t>(table.tokenSequence);
  auto *position = executor.at<int32_t>(table.tokenColumn);
  auto *key = executor.at<int64_t>(table.tokenKey);
  // Add the sequence to the table.
  int64_t past = cache.length(input.sequence) + chunk.offset;
  executor.at<transom_sequence>(table.sequences)[ragged.num_sequences] = {
      ragged.num_tokens,
      chunk.count,
      past + chunk.count,
      0,
      -1,
      past,
      cache.getFirstTableEntry(input.sequence)};
  // Append its tokens with their positions, and select the tokens with logits.
  for (int64_t i = 0; i != chunk.count; ++i) {
    int64_t token = ragged.num_tokens + i;
    tokens[token] = input.tokens[chunk.offset + i];
    sequence[token] = int32_t(ragged.num_sequences);
    position[token] = int32_t(past + i);
    key[token] = past + i;
  }
  ragged.num_tokens += chunk.count;
  for (int64_t i = chunk.numLogits; i != 0; --i)
    logitTokens[numLogits++] = ragged.num_tokens - i;
  longestKeys = std::max(longestKeys, past + chunk.count);
  addReadOnlyKeys(input.sequence, chunk.count);
  ++ragged.num_sequences;
}

/// Adds the last `tokens` tokens, which belong to one sequence, to the tables
/// for read-only groups, with the sequence's keys in each group. Consecutive
/// sequences that share keys, such as copies, are merged, so that attention
/// reads the keys once.
void DecodeEngine::addReadOnlyKeys(int32_t sequence, int64_t tokens) {
  auto *batches = executor.at<transom_ragged_batch>(regions.ragged);
  for (size_t i = 1; i != entry.ragged.size(); ++i) {
    const size_t group = size_t(*entry.ragged[i].cacheGroup);
    char *const *blocks = cache.caches()[group].block_table;
    auto *table = executor.at<transom_sequence>(regions.tables[i].sequences);
    if (ragged.num_sequences == 0)
      batches[i].num_sequences = 0;
    const int64_t first = cache.getFirstTableEntry(sequence);
    if (int64_t &count = batches[i].num_sequences;
        count == 0 || blocks[table[count - 1].first_block] != blocks[first])
      table[count++] = {ragged.num_tokens - tokens,
                        0,
                        cache.readOnlyLength(sequence, group),
                        0,
                        -1,
                        0,
                        first};
    table[batches[i].num_sequences - 1].num_tokens += tokens;
  }
}

/// Writes the next run's tables and the sizes that they define.
void DecodeEngine::placeBatches() {
  auto *symbols = executor.at<int64_t>(regions.symbols);
  auto *batches = executor.at<transom_ragged_batch>(regions.ragged);
  ragged.key_positions = alignToPanel(longestKeys);
  symbols[entry.ragged[0].tokensSymbol] = ragged.num_tokens;
  symbols[entry.ragged[0].keysSymbol] = ragged.key_positions;
  batches[0] = ragged;
  for (size_t i = 1; i != entry.ragged.size(); ++i) {
    const auto *sequences =
        executor.at<transom_sequence>(regions.tables[i].sequences);
    const int64_t count = batches[i].num_sequences;
    int64_t longest = 0;
    for (int64_t s = 0; s != count; ++s)
      longest = std::max(longest, sequences[s].num_keys);
    batches[i] = {};
    batches[i].num_sequences = count;
    batches[i].key_positions = alignToPanel(longest);
    batches[i].sequences = sequences;
    symbols[entry.ragged[i].keysSymbol] = batches[i].key_positions;
  }
}

/// Copies the blocks that the next run needs, each on all threads.
Result<void> DecodeEngine::copyBlocks() {
  if (copies.empty())
    return {};
  TRANSOM_TRY(executor.forEach(
      copies.size() * executor.config().threads,
      [](void *context, size_t index, unsigned) {
        const DecodeEngine &engine = *static_cast<DecodeEngine *>(context);
        const size_t shares = engine.executor.config().threads;
        engine.copies[index / shares].run({index % shares, shares});
      },
      this));
  copies.clear();
  return {};
}

/// Runs the ragged batch and advances `out` past the written rows.
Result<void> DecodeEngine::runBatch(StepLogits &out) {
  TRANSOM_TRY(copyBlocks());
  // A run that needs no logits computes one row into scratch, so that kernels
  // never get an empty output.
  StepLogits rows = out;
  int64_t rowCount = std::max<int64_t>(numLogits, 1);
  if (numLogits == 0) {
    executor.at<int64_t>(regions.inputs[1])[0] = ragged.num_tokens - 1;
    rows = {executor.at<float>(layout.logits) + maxLogits() * width()};
  }

  // Set the tables, symbols and arguments.
  placeBatches();
  auto *symbols = executor.at<int64_t>(regions.symbols);
  symbols[entry.inputs[1].dims[0].onlySymbol()] = rowCount;
  if (entry.workersSymbol >= 0)
    symbols[entry.workersSymbol] = executor.config().threads;
  void **args = executor.at<void *>(regions.args);
  args[0] = executor.at<int64_t>(regions.inputs[0]);
  args[1] = executor.at<int64_t>(regions.inputs[1]);
  void **results = args + entry.inputs.size();
  if (entry.listedSymbol) {
    symbols[*entry.listedSymbol] = listed.count;
    args[2] = const_cast<int64_t *>(listed.ids);
    results[0] = listed.count ? nullptr : rows.logits;
    results[1] = listed.count ? rows.logits : nullptr;
    ++results;
  } else {
    results[0] = rows.logits;
  }
  if (entry.hasSummary) {
    results[1] = rows.maxima;
    results[2] = rows.sums;
  }

  transom_frame frame{};
  TRANSOM_TRY(executor.placeBuffers(entry, symbols, frame));
  frame.caches = cache.caches();
  TRANSOM_TRY(executor.execute(entry, frame));
  const int64_t groups = getNumSummaryGroups(width());
  out.logits += numLogits * (listed.count ? listed.count : width());
  if (out.maxima)
    out.maxima += numLogits * groups;
  if (out.sums)
    out.sums += numLogits * groups;
  clearBatch();
  return {};
}
