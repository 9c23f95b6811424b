// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas are bounded for the session's capacity: a batch and a number of rows
// that calls are checked against, lengths by the model's maximum. Products of
// batch and length are bounded by the rows only where padding counts as rows.
#include "runtime/execute/SessionLayout.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/Checked.h"
#include "runtime/decode/StepCutter.h"
#include "runtime/execute/Cpu.h"
#include <algorithm>
#include <unistd.h>

using namespace transom;

constexpr int64_t defaultBatch = 8;
constexpr int64_t defaultTokens = 4096;
/// Rows of a decoder's walk: more make prefill no faster.
constexpr int64_t defaultStepRows = 1024;
/// What a context that the model does not bound counts as.
constexpr int64_t defaultContext = 4096;
/// Rows of logits that a session keeps take at most so many bytes, but there is
/// always one for each sequence.
constexpr int64_t mostLogitBytes = int64_t(32) << 20;

/// Fills in what only decoders have.
static Result<void> configDecoder(const ManifestDecoder &decoder,
                                  const transom_session_options &options,
                                  SessionConfig &config) {
  constexpr int64_t mostSequences = 1 << 20, mostPositions = int64_t(1) << 40;
  config.maxSequences =
      options.max_sequences ? options.max_sequences : config.maxBatch;
  if (config.maxSequences > mostSequences ||
      options.max_kv_tokens > uint64_t(mostPositions))
    return usageError("max_sequences is at most 1048576 and max_kv_tokens at "
                      "most 1099511627776, got " +
                      std::to_string(config.maxSequences) + " and " +
                      std::to_string(options.max_kv_tokens));
  int64_t context = decoder.context.value_or(defaultContext);
  config.maxKvTokens = options.max_kv_tokens ? int64_t(options.max_kv_tokens)
                                             : config.maxSequences * context;
  if (options.max_tokens == 0)
    config.maxTokens = std::min(defaultStepRows, config.maxSequences * context);
  return {};
}

/// The longest sequence that a model's entries take, if there is a limit.
static std::optional<int64_t> longestSequence(const Model &model) {
  std::optional<int64_t> longest;
  for (const Entry &entry : model.entries())
    for (size_t i = 0; i != entry.symbols.size(); ++i)
      if (entry.kinds[i] == SymbolKind::Length && entry.maxima[i])
        longest = std::max(longest.value_or(0), *entry.maxima[i]);
  return longest;
}

Result<SessionConfig>
SessionConfig::from(const Model &model, const transom_session_options *given) {
  transom_session_options options = transom_session_options_default();
  if (given)
    options = *given;
  constexpr uint64_t most = uint64_t(1) << 31;
  if (options.threads > 4096)
    return usageError(std::to_string(options.threads) +
                      " threads are over the maximum 4096");
  if (options.max_batch >= most || options.max_tokens >= most)
    return usageError("max_batch and max_tokens are below 2147483648, got " +
                      std::to_string(options.max_batch) + " and " +
                      std::to_string(options.max_tokens));
  const bool holdsByModel = options.hold_results == TRANSOM_FROM_MODEL;
  if (!holdsByModel && (options.hold_results < 0 || options.hold_results > 1))
    return usageError("hold_results is 0, 1 or TRANSOM_FROM_MODEL, got " +
                      std::to_string(options.hold_results));
  SessionConfig config;
  config.threads = options.threads ? options.threads : usableCores();
  // Threads above the CPUs would wait for each other at every step. A host's
  // shares are its own affair.
  if (!options.parallel)
    config.threads = std::min(config.threads, usableCpus());
  config.maxBatch = options.max_batch ? options.max_batch : defaultBatch;
  config.maxTokens = int64_t(options.max_tokens);
  if (config.maxTokens == 0) {
    int64_t longest = longestSequence(model).value_or(defaultTokens);
    config.maxTokens = std::min(
        defaultTokens, std::min(longest, defaultTokens) * config.maxBatch);
  }
  if (const auto &decoder = model.manifest().decoder)
    TRANSOM_TRY(configDecoder(*decoder, options, config));
  if (options.mem_limit)
    config.memLimit = options.mem_limit;
  config.parallel = options.parallel;
  config.parallelContext = options.parallel_context;
  config.holdResults =
      options.hold_results == 1 ||
      (holdsByModel && (model.embedding() || model.classification()));
  config.profile = options.profile != 0;
  config.trace = options.profile >= 2;
  return config;
}

namespace {

/// Hands out regions one behind the other.
class Regions {
public:
  explicit Regions(CheckedSize begin) : at(begin) {}
  Region take(CheckedSize bytes) {
    at = at.alignUp(bufferAlignment);
    Region region{at.value().value_or(0), bytes.value().value_or(0)};
    at += bytes;
    return region;
  }
  CheckedSize end() const { return at; }

private:
  CheckedSize at;
};

/// Plans one entry behind what all entries share.
class EntryPlanner {
public:
  EntryPlanner(const Entry &entry, const SessionConfig &config,
               const KvLayout *kv)
      : entry(entry), config(config), kv(kv) {}

  /// False on overflow.
  bool plan(Regions &regions, EntryLayout &layout) {
    setBounds();
    int64_t arena;
    if (!good || !entry.arenaBytes.bound(bounds, arena) || arena < 0)
      return false;
    layout.arenaBytes = uint64_t(arena);
    size_t args = entry.inputs.size() + entry.outputs.size();
    layout.symbols = regions.take(words(entry.symbols.size()));
    layout.offsets = regions.take(words(entry.offsets.size()));
    layout.args = regions.take(words(args));
    layout.tensors = regions.take(words(args));
    layout.shapes = regions.take(CheckedSize(args) * sizeof(ShapeValue));
    layout.segments = regions.take(CheckedSize(entry.segments.size()) *
                                   sizeof(transom_segments));
    for (const SegmentsRule &rule : entry.segments)
      layout.tables.push_back(planTable(rule, regions));
    for (const Argument &input : entry.inputs)
      layout.inputs.push_back(
          !entry.isLoop() && (input.alwaysStaged() || config.holdResults)
              ? regions.take(bytesOf(input, input.stagedSize()))
              : Region());
    if (entry.isRagged()) // held results count padding as rows
      bounds.batchTimesLength = config.maxTokens;
    for (const Argument &output : entry.outputs)
      layout.outputs.push_back(
          holdsResults()
              ? regions.take(
                    bytesOf(output, int64_t(transom_dtype_size(output.dtype))))
              : Region());
    return good;
  }

private:
  static CheckedSize words(size_t count) { return CheckedSize(count) * 8; }
  /// A step's are the decoder's; how many `generate` gives, it says itself.
  bool holdsResults() const {
    return config.holdResults && !entry.isStep() &&
           entry.manifest->loop != "generate";
  }
  void setBounds();
  SegmentsLayout planTable(const SegmentsRule &rule, Regions &regions);

  CheckedSize bytesOf(const Argument &argument, int64_t elementSize) {
    int64_t elements = 0;
    good = good && argument.elements.bound(bounds, elements);
    return CheckedSize::fromSigned(elements) *
           CheckedSize::fromSigned(elementSize);
  }
  int64_t boundOf(const Formula &formula) {
    int64_t value = 0;
    good = good && formula.bound(bounds, value);
    return value;
  }

  const Entry &entry;
  const SessionConfig &config;
  const KvLayout *kv; // NULL: no decoder
  SymbolBounds bounds;
  bool good = true;
};

void EntryPlanner::setBounds() {
  bounds.kinds = entry.kinds;
  bounds.maxima.assign(entry.symbols.size(), 0);
  if (!entry.isRagged())
    bounds.batchTimesLength = config.maxTokens;
  for (size_t i = 0; i != entry.symbols.size(); ++i) {
    int64_t model = entry.maxima[i].value_or(INT64_MAX);
    if (entry.kinds[i] == SymbolKind::Batch)
      bounds.maxima[i] = std::min(model, config.maxBatch);
    else if (entry.kinds[i] == SymbolKind::Length)
      bounds.maxima[i] = std::min(model, config.maxTokens);
    else if (entry.kinds[i] == SymbolKind::Parts)
      bounds.maxima[i] = config.threads;
  }
  if (entry.isStep()) {
    const SegmentsRule &rule = entry.segments[0];
    bounds.maxima[rule.rowsSymbol] = config.maxTokens;
    bounds.maxima[rule.keysSymbol] = alignToPanel(kv->plan.longest);
    bounds.maxima[entry.inputs[1].dims[0].onlySymbol()] =
        std::min(config.maxTokens, kv->maxWanted);
    return;
  }
  for (const SegmentsRule &rule : entry.segments) {
    int64_t batch = boundOf(rule.batch), columns = boundOf(rule.columns);
    bool varies = rule.batch.uses(SymbolKind::Batch, entry.kinds) ||
                  rule.columns.uses(SymbolKind::Length, entry.kinds);
    int64_t rows;
    if (__builtin_mul_overflow(batch, columns, &rows))
      rows = INT64_MAX;
    // Sizes that are all constant are not the session's to bound.
    if (varies)
      rows = std::min(rows, config.maxTokens);
    int64_t keys;
    good = good && !__builtin_mul_overflow(batch, panelWidth - 1, &keys) &&
           !__builtin_add_overflow(keys, rows, &keys);
    if (!good)
      return;
    bounds.maxima[rule.rowsSymbol] = rows;
    bounds.maxima[rule.keysSymbol] = keys / panelWidth * panelWidth;
  }
}

SegmentsLayout EntryPlanner::planTable(const SegmentsRule &rule,
                                       Regions &regions) {
  SegmentsLayout table;
  table.maxBatch = rule.sequences
                       ? std::min(config.maxSequences, config.maxTokens)
                       : boundOf(rule.batch);
  table.maxRows = bounds.maxima[rule.rowsSymbol];
  CheckedSize batch = CheckedSize::fromSigned(table.maxBatch);
  CheckedSize rows = CheckedSize::fromSigned(table.maxRows);
  table.sequences = regions.take(batch * sizeof(transom_sequence));
  table.rowSequence = regions.take(rows * sizeof(int32_t));
  table.rowColumn = regions.take(rows * sizeof(int32_t));
  table.rowKey = regions.take(rows * sizeof(int64_t));
  return table;
}

/// The regions of a decoder's cache but for its blocks, which `blockBytes`
/// counts.
Result<KvLayout> planCache(const ManifestDecoder &decoder, int64_t width,
                           const SessionConfig &config, Regions &regions,
                           CheckedSize &blockBytes) {
  TRANSOM_ASSIGN(KvPlan plan,
                 KvPlan::create(decoder, config.maxSequences,
                                config.maxKvTokens, config.maxTokens));
  KvLayout layout;
  layout.plan = std::move(plan);
  layout.maxWanted =
      std::max(config.maxSequences,
               std::min(config.maxTokens, mostLogitBytes / (4 * width)));
  CheckedSize sequences = CheckedSize::fromSigned(config.maxSequences);
  CheckedSize groups(layout.plan.groups.size()), blocks(0);
  for (const KvGroup &group : layout.plan.groups) {
    blocks += CheckedSize::fromSigned(group.blocks);
    blockBytes += CheckedSize::fromSigned(group.blocks) *
                  CheckedSize::fromSigned(group.blockBytes);
  }
  layout.lengths = regions.take(sequences * 8);
  layout.first = regions.take(sequences * groups * 8);
  layout.tables = regions.take(
      sequences * groups * CheckedSize::fromSigned(layout.plan.entries) * 8);
  layout.users = regions.take(blocks * 4);
  layout.free = regions.take(blocks * 4);
  layout.caches = regions.take(groups * sizeof(transom_cache));
  layout.logits = regions.take(CheckedSize::fromSigned(layout.maxWanted + 1) *
                               CheckedSize::fromSigned(width) * sizeof(float));
  layout.loopTokens =
      regions.take(CheckedSize::fromSigned(config.maxTokens) * 8);
  layout.loopRows = regions.take(sequences * sizeof(StepInput));
  layout.loopBatchRows = regions.take(sequences * 8);
  return layout;
}

/// What lasts from call to call: counters, times, and a cache but for its
/// blocks, which `blockBytes` counts.
Result<void> planShared(const Model &model, const SessionConfig &config,
                        SessionLayout &layout, Regions &shared,
                        CheckedSize &blockBytes) {
  uint64_t counters = 0, steps = 0;
  for (const Entry &entry : model.entries()) {
    counters = std::max(counters, uint64_t(entry.counters));
    steps =
        std::max(steps, uint64_t(entry.code ? entry.code->num_dispatches : 0));
  }
  layout.counters = shared.take(CheckedSize(counters) * 8);
  layout.profile = shared.take(CheckedSize(config.profile ? steps : 0) * 8);
  layout.shares = shared.take(CheckedSize(config.trace ? steps : 0) *
                              config.threads * sizeof(transom_worker_time));
  for (const Entry &entry : model.entries())
    if (entry.isStep()) {
      TRANSOM_ASSIGN(KvLayout kv,
                     planCache(*model.manifest().decoder, entry.stepWidth,
                               config, shared, blockBytes));
      layout.kv = std::move(kv);
    }
  return {};
}

/// The entries, and the bytes that the largest of them take. They share space,
/// but a loop runs the step: it lies behind it. False on overflow.
bool planEntries(const Model &model, const SessionConfig &config,
                 const Regions &shared, SessionLayout &layout) {
  Regions behindStep = shared;
  layout.restBytes = shared.end().value().value_or(0);
  layout.entries.resize(model.entries().size());
  for (bool loops : {false, true})
    for (size_t i = 0; i != model.entries().size(); ++i) {
      const Entry &entry = model.entries()[i];
      if (entry.isLoop() != loops)
        continue;
      Regions regions = loops ? behindStep : shared;
      EntryLayout &made = layout.entries[i];
      if (!EntryPlanner(entry, config, layout.kv ? &*layout.kv : nullptr)
               .plan(regions, made) ||
          !regions.end().value())
        return false;
      layout.arena.bytes = std::max(layout.arena.bytes, made.arenaBytes);
      layout.restBytes = std::max(layout.restBytes, *regions.end().value());
      if (entry.isStep())
        behindStep = regions;
    }
  return true;
}

/// Rounds everything up to pages and puts it into the mapping. False on
/// overflow.
bool placeInMapping(SessionLayout &layout, CheckedSize blockBytes) {
  CheckedSize page(layout.page);
  CheckedSize arena = CheckedSize(layout.arena.bytes).alignUp(layout.page);
  CheckedSize rest = CheckedSize(layout.restBytes).alignUp(layout.page);
  CheckedSize restBegin = page + arena + page;
  CheckedSize total = restBegin + rest + page;
  CheckedSize blocksBegin = total, blocks = blockBytes.alignUp(layout.page);
  if (layout.kv)
    total += blocks + page;
  if (!total.signedValue())
    return false;
  layout.arena = {layout.page, *arena.value()};
  layout.restOffset = *restBegin.value();
  layout.restBytes = *rest.value();
  if (layout.kv)
    layout.kv->blocks = {*blocksBegin.value(), *blocks.value()};
  layout.total = *total.value();
  return true;
}

} // namespace

Result<SessionLayout> SessionLayout::plan(const Model &model,
                                          const SessionConfig &config) {
  SessionLayout layout;
  layout.page = uint64_t(sysconf(_SC_PAGESIZE));
  Regions shared{CheckedSize(0)};
  CheckedSize blockBytes(0);
  TRANSOM_TRY(planShared(model, config, layout, shared, blockBytes));
  if (!planEntries(model, config, shared, layout) ||
      !placeInMapping(layout, blockBytes))
    return limitError("the sizes of a session with max_batch " +
                      std::to_string(config.maxBatch) + " and max_tokens " +
                      std::to_string(config.maxTokens) + " overflow");
  if (layout.total > config.memLimit)
    return limitError("the session needs " + std::to_string(layout.total) +
                      " bytes, over mem_limit " +
                      std::to_string(config.memLimit) +
                      (layout.kv ? "; a smaller max_kv_tokens, max_sequences "
                                   "or max_tokens needs less"
                                 : "; a smaller max_batch or max_tokens needs "
                                   "less"));
  return layout;
}
