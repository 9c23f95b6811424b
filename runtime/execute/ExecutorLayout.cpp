// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas are bounded by the maximum batch and token count; lengths by the
// model's maximum. Products of batch and length are bounded by the token count
// only if padding counts as tokens.
#include "runtime/execute/ExecutorLayout.h"
#include "runtime/execute/Tensor.h"
#include <algorithm>
#include <unistd.h>

using namespace transom;

constexpr uint64_t lineBytes = 64;

namespace {

/// Allocates consecutive regions.
class Regions {
public:
  explicit Regions(CheckedSize begin) : at(begin) {}
  Region take(CheckedSize bytes) {
    at = at.alignUp(lineBytes);
    Region region{at.value().value_or(0), bytes.value().value_or(0)};
    at += bytes;
    return region;
  }
  CheckedSize end() const { return at; }

private:
  CheckedSize at;
};

/// Plans one entry after the shared regions.
class EntryPlanner {
public:
  EntryPlanner(const Entry &entry, const ExecutorConfig &config,
               const ExecutorExtension *extension)
      : entry(entry), config(config), extension(extension) {}

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
    layout.ragged = regions.take(CheckedSize(entry.ragged.size()) *
                                 sizeof(transom_ragged_batch));
    for (const RaggedBatchRule &rule : entry.ragged)
      layout.tables.push_back(planTable(rule, regions));
    for (const Argument &input : entry.inputs)
      layout.inputs.push_back(
          isStaged(input) ? regions.take(getByteSize(input, input.stagedSize()))
                          : Region());
    // Held results also have elements for padding.
    if (entry.isRagged())
      bounds.batchTimesLength = config.maxTokens;
    for (const Argument &output : entry.outputs)
      layout.outputs.push_back(
          holdsResult(output)
              ? regions.take(
                    getByteSize(output, int64_t(getElementSize(output.dtype))))
              : Region());
    return good;
  }

private:
  static CheckedSize words(size_t count) { return CheckedSize(count) * 8; }
  /// A source entry's input states are in the session's memory, and dense.
  bool isStaged(const Argument &input) const {
    return !entry.isDerived() &&
           (input.alwaysStaged() || (config.holdResults && !entry.isSource()));
  }
  /// A step's results belong to its caller. A result with an unbounded symbol,
  /// as in `generate`, is not held.
  bool holdsResult(const Argument &output) const {
    return config.holdResults && !entry.isStep() &&
           !output.elements.uses(SymbolKind::Unbound, entry.kinds);
  }
  void setBounds();
  RaggedBatchLayout planTable(const RaggedBatchRule &rule, Regions &regions);

  CheckedSize getByteSize(const Argument &argument, int64_t elementSize) {
    int64_t elements = 0;
    good = good && argument.elements.bound(bounds, elements);
    return CheckedSize::fromSigned(elements) *
           CheckedSize::fromSigned(elementSize);
  }
  int64_t getBound(const Formula &formula) {
    int64_t value = 0;
    good = good && formula.bound(bounds, value);
    return value;
  }

  const Entry &entry;
  const ExecutorConfig &config;
  const ExecutorExtension *extension; // NULL: no entry over sequences
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
    else if (entry.kinds[i] == SymbolKind::Workers)
      bounds.maxima[i] = config.threads;
  }
  if (entry.isStep()) {
    bounds.maxima[entry.ragged[0].tokensSymbol] = config.maxTokens;
    for (const RaggedBatchRule &rule : entry.ragged)
      bounds.maxima[rule.keysSymbol] = alignToPanel(
          rule.cacheGroup ? extension->maxReadOnlyKeys[size_t(*rule.cacheGroup)]
                          : extension->maxKeys);
    bounds.maxima[entry.inputs[1].dims[0].onlySymbol()] =
        std::min(config.maxTokens, extension->maxLogits);
    if (entry.listedSymbol)
      bounds.maxima[*entry.listedSymbol] = *entry.maxima[*entry.listedSymbol];
    return;
  }
  for (const RaggedBatchRule &rule : entry.ragged) {
    int64_t batch = getBound(rule.batch), columns = getBound(rule.columns);
    bool varies = rule.batch.uses(SymbolKind::Batch, entry.kinds) ||
                  rule.columns.uses(SymbolKind::Length, entry.kinds);
    int64_t rows;
    if (__builtin_mul_overflow(batch, columns, &rows))
      rows = INT64_MAX;
    // Constant sizes do not depend on the session's bounds.
    if (varies)
      rows = std::min(rows, config.maxTokens);
    int64_t keys;
    good = good && !__builtin_mul_overflow(batch, 31, &keys) &&
           !__builtin_add_overflow(keys, rows, &keys);
    if (!good)
      return;
    bounds.maxima[rule.tokensSymbol] = rows;
    bounds.maxima[rule.keysSymbol] = keys / 32 * 32;
  }
}

RaggedBatchLayout EntryPlanner::planTable(const RaggedBatchRule &rule,
                                          Regions &regions) {
  RaggedBatchLayout table;
  table.maxBatch = rule.sequences
                       ? std::min(extension->maxSequences, config.maxTokens)
                       : getBound(rule.batch);
  table.maxTokens = rule.cacheGroup ? 0 : bounds.maxima[rule.tokensSymbol];
  CheckedSize batch = CheckedSize::fromSigned(table.maxBatch);
  CheckedSize rows = CheckedSize::fromSigned(table.maxTokens);
  table.sequences = regions.take(batch * sizeof(transom_sequence));
  table.tokenSequence = regions.take(rows * sizeof(int32_t));
  table.tokenColumn = regions.take(rows * sizeof(int32_t));
  table.tokenKey = regions.take(rows * sizeof(int64_t));
  return table;
}

/// Plans the persistent regions: counters, times and the extension.
void planShared(const Program &program, const ExecutorConfig &config,
                const ExecutorExtension *extension, ExecutorLayout &layout,
                Regions &shared) {
  uint64_t counters = 0, dispatches = 0;
  for (const Entry &entry : program.entries()) {
    counters = std::max(counters, uint64_t(entry.counters));
    dispatches = std::max(
        dispatches, uint64_t(entry.code ? entry.code->num_dispatches : 0));
  }
  layout.counters = shared.take(CheckedSize(counters) * 8);
  layout.profile =
      shared.take(CheckedSize(config.profile ? dispatches : 0) * 8);
  layout.workerTimes =
      shared.take(CheckedSize(config.trace ? dispatches : 0) * config.threads *
                  sizeof(transom_worker_time));
  for (const Entry &entry : program.entries()) {
    std::vector<Region> &kept = layout.kept.emplace_back();
    for (uint64_t bytes : entry.keptBytes)
      kept.push_back(bytes ? shared.take(CheckedSize(bytes)) : Region());
  }
  if (extension)
    for (CheckedSize bytes : extension->regions)
      layout.extension.push_back(shared.take(bytes));
}

/// Whether derived entries run this one.
bool isRunByDerived(const Program &program, const Entry &entry) {
  const auto &decoder = program.manifest().decoder;
  return entry.isStep() || entry.isSource() ||
         (decoder && entry.manifest->name == decoder->encoder);
}

/// Plans the entries, which share space. A derived entry runs others, so its
/// regions come after all of theirs. False on overflow.
bool planEntries(const Program &program, const ExecutorConfig &config,
                 const ExecutorExtension *extension, const Regions &shared,
                 ExecutorLayout &layout) {
  Regions afterCode = shared;
  layout.restBytes = shared.end().value().value_or(0);
  layout.entries.resize(program.entries().size());
  for (bool derived : {false, true})
    for (size_t i = 0; i != program.entries().size(); ++i) {
      const Entry &entry = program.entries()[i];
      if (entry.isDerived() != derived)
        continue;
      Regions regions = derived ? afterCode : shared;
      EntryLayout &made = layout.entries[i];
      if (!EntryPlanner(entry, config, extension).plan(regions, made) ||
          !regions.end().value())
        return false;
      layout.arena.bytes = std::max(layout.arena.bytes, made.arenaBytes);
      layout.restBytes = std::max(layout.restBytes, *regions.end().value());
      if (isRunByDerived(program, entry) &&
          *regions.end().value() > *afterCode.end().value())
        afterCode = regions;
    }
  return true;
}

/// Rounds all sizes up to pages and computes the offsets in the mapping. False
/// on overflow.
bool placeInMapping(ExecutorLayout &layout,
                    const ExecutorExtension *extension) {
  CheckedSize page(layout.page);
  CheckedSize arena = CheckedSize(layout.arena.bytes).alignUp(layout.page);
  CheckedSize rest = CheckedSize(layout.restBytes).alignUp(layout.page);
  CheckedSize restBegin = page + arena + page;
  CheckedSize total = restBegin + rest + page;
  CheckedSize lazyBegin = total, lazy(0);
  if (extension) {
    lazy = extension->lazyBytes;
    lazy = lazy.alignUp(layout.page);
    total += lazy + page;
  }
  if (!total.signedValue())
    return false;
  layout.arena = {layout.page, *arena.value()};
  layout.restOffset = *restBegin.value();
  layout.restBytes = *rest.value();
  layout.lazy = {*lazyBegin.value(), *lazy.value()};
  layout.total = *total.value();
  return true;
}

} // namespace

Result<ExecutorLayout>
ExecutorLayout::plan(const Program &program, const ExecutorConfig &config,
                     const ExecutorExtension *extension) {
  ExecutorLayout layout;
  layout.page = uint64_t(sysconf(_SC_PAGESIZE));
  Regions shared{CheckedSize(0)};
  planShared(program, config, extension, layout, shared);
  if (!planEntries(program, config, extension, shared, layout) ||
      !placeInMapping(layout, extension))
    return limitError("the sizes of a session with max_batch " +
                      std::to_string(config.maxBatch) + " and max_tokens " +
                      std::to_string(config.maxTokens) + " overflow");
  if (layout.total > config.memLimit)
    return limitError(
        "the session needs " + std::to_string(layout.total) +
        " bytes, over mem_limit " + std::to_string(config.memLimit) +
        "; a smaller " +
        (extension ? extension->limitHint : "max_batch or max_tokens") +
        " needs less");
  return layout;
}
