// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Default session options and the memory plan.
#include "runtime/session/SessionConfig.h"
#include "runtime/abi/RowSummary.h"
#include "runtime/execute/Cpu.h"
#include "runtime/execute/Executor.h"
#include <algorithm>

using namespace transom;

constexpr int64_t defaultBatch = 8;
constexpr int64_t defaultTokens = 4096;
/// Tokens per decoder run; more do not make prefill faster.
constexpr int64_t defaultStepRows = 1024;
/// Context length if the model does not limit it.
constexpr int64_t defaultContext = 4096;

/// Returns the max sequence length for the model's entries, if there is a
/// limit.
static std::optional<int64_t> longestSequence(const Model &model) {
  std::optional<int64_t> longest;
  for (const Entry &entry : model.entries())
    for (size_t i = 0; i != entry.symbols.size(); ++i)
      if (entry.kinds[i] == SymbolKind::Length && entry.maxima[i])
        longest = std::max(longest.value_or(0), *entry.maxima[i]);
  return longest;
}

/// Sets the fields that only decoders have.
static Result<void> configDecoder(const Model &model,
                                  const transom_session_options &options,
                                  SessionConfig &config) {
  const ManifestDecoder &decoder = *model.manifest().decoder;
  constexpr int64_t mostSequences = 1 << 20, mostPositions = int64_t(1) << 40;
  config.maxSequences =
      options.max_sequences ? options.max_sequences : config.maxBatch;
  if (config.maxSequences > mostSequences ||
      options.max_kv_tokens > uint64_t(mostPositions) ||
      options.max_source_tokens > uint64_t(mostPositions))
    return usageError("max_sequences is at most 1048576, max_kv_tokens and "
                      "max_source_tokens at most 1099511627776, got " +
                      std::to_string(config.maxSequences) + ", " +
                      std::to_string(options.max_kv_tokens) + " and " +
                      std::to_string(options.max_source_tokens));
  int64_t context = decoder.context.value_or(defaultContext);
  config.maxKvTokens = options.max_kv_tokens ? int64_t(options.max_kv_tokens)
                                             : config.maxSequences * context;
  config.maxSourceTokens = int64_t(options.max_source_tokens);
  if (options.max_tokens == 0) {
    config.maxTokens = std::min(defaultStepRows, config.maxSequences * context);
    // One run computes a whole source.
    if (!decoder.encoder.empty())
      config.maxTokens = std::max(
          config.maxTokens, longestSequence(model).value_or(defaultStepRows));
  }
  return {};
}

/// True if a model embeds or classifies texts, or finds entities in them. An
/// encoder-decoder also has an encoder, but not for this purpose.
static bool isForTexts(const Model &model) {
  const auto &decoder = model.manifest().decoder;
  const bool isEncoderDecoder = decoder && !decoder->encoder.empty();
  return model.classification() || model.entityStates() ||
         (model.embedding() && !isEncoderDecoder);
}

Result<SessionConfig>
SessionConfig::from(const Model &model, const transom_session_options *given) {
  transom_session_options options = transom_session_options_default();
  if (given)
    options = *given;
  // Check the ranges.
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
  if (options.profile > 2)
    return usageError("profile is 0, 1 or 2, got " +
                      std::to_string(options.profile));
  // Set thread count and defaults.
  SessionConfig config;
  config.threads = options.threads ? options.threads : usableCores();
  config.fewerThreads = options.threads == 0;
  // Threads beyond the CPU count would wait for each other in every step. A
  // host's thread pool is not limited.
  if (!options.parallel)
    config.threads = std::min(config.threads, usableCpus());
  config.maxBatch = options.max_batch ? options.max_batch : defaultBatch;
  config.maxTokens = int64_t(options.max_tokens);
  if (config.maxTokens == 0) {
    int64_t longest = longestSequence(model).value_or(defaultTokens);
    config.maxTokens = std::min(
        defaultTokens, std::min(longest, defaultTokens) * config.maxBatch);
  }
  if (model.manifest().decoder)
    TRANSOM_TRY(configDecoder(model, options, config));
  if (options.mem_limit)
    config.memLimit = options.mem_limit;
  config.parallel = options.parallel;
  config.parallelContext = options.parallel_context;
  config.holdResults =
      options.hold_results == 1 || (holdsByModel && isForTexts(model));
  config.profile = options.profile != 0;
  config.trace = options.profile >= 2;
  return config;
}

Result<SessionLayout> SessionLayout::plan(const Model &model,
                                          const SessionConfig &config) {
  SessionLayout layout;
  const Entry *step = model.findEntry(EntryKind::Step);
  if (!step) {
    TRANSOM_ASSIGN(ExecutorLayout executor,
                   ExecutorLayout::plan(model, config, nullptr));
    layout.executor = std::move(executor);
    layout.total = layout.executor.total;
    return layout;
  }
  // Add the caches and the storage for derived entries to the executor's
  // memory.
  const Entry *source = model.findEntry(EntryKind::Source);
  const DecodeWidths widths{
      step->stepWidth, source ? source->sourceWidth : 0,
      step->hasSummary ? getNumSummaryGroups(step->stepWidth) : 0};
  TRANSOM_ASSIGN(
      DecodeLayout decode,
      DecodeLayout::create(*model.manifest().decoder, widths, config, config));
  ExecutorExtension extension;
  decode.addTo(extension, widths, config);
  const size_t first = extension.regions.size();
  DerivedEntryLayout::addTo(extension, config.maxTokens, config.maxSequences,
                            source != nullptr);
  extension.limitHint = "max_kv_tokens, max_sequences or max_tokens";
  TRANSOM_ASSIGN(ExecutorLayout executor,
                 ExecutorLayout::plan(model, config, &extension));
  decode.place(executor);
  layout.derived.place(executor, first);
  layout.decode = std::move(decode);
  layout.executor = std::move(executor);
  layout.total = layout.executor.total;
  return layout;
}

Result<void> transom::checkRunnable(const Entry &entry) {
  if (entry.isStep())
    return usageError("entry '" + entry.manifest->name +
                      "' is called by transom_session_step(), not on tensors");
  if (entry.isSource())
    return usageError("entry '" + entry.manifest->name +
                      "' fills the caches of sequences, it is not called on "
                      "tensors");
  return {};
}

/// Raises the capacity for a derived entry, which splits its tokens into steps,
/// so any max_tokens is sufficient; it is fastest if a step holds all tokens or
/// 1024. Its sequences may use the cache one after another. The capacity for
/// `generate` also depends on its options. An encoder-decoder's source runs as
/// a whole.
static void fitDerivedEntry(const Model &model, const Entry &entry,
                            const Call &call, Capacity &capacity) {
  constexpr int64_t stepTokens = 1024, together = 8;
  int64_t batch = call.inputShape(0).dims[0];
  int64_t columns = call.inputShape(0).dims[1];
  const int64_t sourceColumns = columns;
  const bool hasSources = !model.manifest().decoder->encoder.empty();
  if (hasSources && entry.inputs.size() > 2)
    columns = std::max(columns, call.inputShape(2).dims[1]);
  capacity.maxBatch = std::max(capacity.maxBatch, batch);
  capacity.maxTokens =
      std::max(capacity.maxTokens, columns >= stepTokens
                                       ? stepTokens
                                       : std::min(stepTokens, batch * columns));
  if (hasSources)
    capacity.maxTokens = std::max(capacity.maxTokens, sourceColumns);
  if (entry.kind() == EntryKind::Generate)
    return;
  int64_t sequences = std::min(batch, together);
  if (hasSources)
    capacity.maxSourceTokens = std::max(
        capacity.maxSourceTokens, sequences * alignToKvBlock(sourceColumns));
  capacity.maxSequences = std::max(capacity.maxSequences, sequences);
  capacity.maxKvTokens = std::max(capacity.maxKvTokens, sequences * columns);
}

Result<void> transom::fitCapacity(const Model &model, const char *name,
                                  const transom_tensor *inputs,
                                  size_t inputCount, Capacity &capacity) {
  TRANSOM_ASSIGN(const Entry *entry, findEntry(model, name));
  TRANSOM_TRY(checkRunnable(*entry));
  ShapeStorage storage(*entry);
  Call call(*entry, storage.view());
  if (Result<void> done = call.bindInputs(inputs, inputCount, false); !done)
    return done;
  if (entry->isDerived()) {
    fitDerivedEntry(model, *entry, call, capacity);
    return {};
  }
  if (Result<void> done = call.checkMaxima(); !done)
    return done;
  return call.raiseCapacity(capacity.maxBatch, capacity.maxTokens);
}
