// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call: bind and check, stage inputs, build ragged batches, place buffers,
// run the dispatches, copy results. All errors are detected before the first
// dispatch, and the caller's memory is not written earlier.
#include "runtime/execute/Executor.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/Suggest.h"
#include "runtime/execute/ExecutorRun.h"
#include "runtime/execute/Tensor.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace transom;

Result<Mapping> Mapping::create(const ExecutorLayout &layout) {
  void *memory = mmap(nullptr, layout.total, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Error refused =
      limitError("the system refuses " + std::to_string(layout.total) +
                 " bytes for the session");
  if (memory == MAP_FAILED)
    return refused;
  Mapping mapping;
  mapping.begin = static_cast<char *>(memory);
  mapping.bytes = layout.total;
  for (auto [offset, bytes] :
       {std::pair(layout.arena.offset, layout.arena.bytes),
        std::pair(layout.restOffset, layout.restBytes)})
    if (bytes &&
        mprotect(mapping.begin + offset, bytes, PROT_READ | PROT_WRITE) != 0)
      return refused;
  if (layout.lazy.bytes == 0)
    return mapping;
  // The system provides these pages when they are first written.
  void *lazy =
      mmap(mapping.begin + layout.lazy.offset, layout.lazy.bytes,
           PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (lazy == MAP_FAILED)
    return refused;
  return mapping;
}

Mapping::Mapping(Mapping &&other) noexcept
    : begin(std::exchange(other.begin, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Mapping &Mapping::operator=(Mapping &&other) noexcept {
  std::swap(begin, other.begin);
  std::swap(bytes, other.bytes);
  return *this;
}

Mapping::~Mapping() {
  if (begin)
    munmap(begin, bytes);
}

Result<std::unique_ptr<Executor>> Executor::create(const Program &program,
                                                   const ExecutorConfig &config,
                                                   ExecutorLayout layout) {
  std::unique_ptr<Executor> executor(
      new Executor(program, config, std::move(layout)));
  TRANSOM_ASSIGN(Mapping mapping, Mapping::create(executor->layout));
  executor->mapping = std::move(mapping);
  TRANSOM_TRY(executor->startThreads());
  return executor;
}

Executor::~Executor() {
  if (getpid() == owner)
    return;
  (void)team.release();
  (void)oneDnn.release();
}

Result<void> Executor::startThreads() {
  if (source.oneDnn()) {
    TRANSOM_ASSIGN(std::unique_ptr<OneDnnSession> made,
                   OneDnnSession::create(*source.oneDnn(), settings.threads));
    oneDnn = std::move(made);
    // Use oneDNN's threads for the other dispatches too: two thread sets would
    // spin simultaneously.
    if (!settings.parallel && oneDnn->parallel()) {
      settings.parallel = oneDnn->parallel();
      settings.parallelContext = oneDnn->handle();
    }
  }
  if (settings.parallel)
    pool = std::make_unique<HostPool>(
        settings.parallel, settings.parallelContext, settings.threads);
  if (settings.threads > 1 && !settings.parallel && !settings.observer) {
    TRANSOM_ASSIGN(std::unique_ptr<Team> made,
                   Team::create(settings.threads, settings.fewerThreads));
    settings.threads = made->size();
    if (made->size() > 1)
      team = std::move(made);
  }
  return {};
}

Result<const Entry *> transom::findEntry(const Program &program,
                                         const char *name) {
  if (const Entry *entry = program.findEntry(name ? name : ""))
    return entry;
  std::vector<std::string> names;
  for (const Entry &entry : program.entries())
    names.push_back(entry.manifest->name);
  std::string given = name ? name : "";
  return usageError("the model has no entry '" + given +
                    "'; it has: " + joinNames(names) + suggest(given, names));
}

CallStorage Executor::getStorage(const Entry &entry) const {
  const EntryLayout &places = getLayout(entry);
  return {at<int64_t>(places.symbols),
          at<const transom_tensor *>(places.tensors),
          at<ShapeValue>(places.shapes)};
}

/// Writes the default to `count` staged input elements.
static void fillDefault(const Argument &argument, int64_t count, void *out) {
  int64_t value = *argument.fallback;
  if (argument.isInteger())
    std::fill_n(static_cast<int64_t *>(out), count, value);
  else if (argument.dtype == TRANSOM_DTYPE_BOOL)
    std::fill_n(static_cast<uint8_t *>(out), count, uint8_t(value));
  else
    std::fill_n(static_cast<float *>(out), count, float(value));
}

Result<void> Executor::stage(const Argument &argument, const Region &room,
                             const transom_tensor *tensor,
                             const ShapeValue &shape, void *&arg) {
  if (tensor && !argument.alwaysStaged() &&
      isDense(*tensor, shape.dims, shape.rank) &&
      uintptr_t(tensor->data) % sizeof(float) == 0) {
    arg = tensor->data;
    return {};
  }
  int64_t count = Call::getElementCount(shape);
  if (room.bytes == 0)
    return rejected("input '" + argument.name +
                    "' has strides, is not aligned or is left out, and the "
                    "session does not hold results");
  if (uint64_t(count) > room.bytes / uint64_t(argument.stagedSize()))
    return limitError("input '" + argument.name + "' of shape " +
                      shapeText(shape.dims, shape.rank) +
                      " does not fit the session's max_batch " +
                      std::to_string(settings.maxBatch) + " and max_tokens " +
                      std::to_string(settings.maxTokens));
  arg = getRest(room);
  if (!tensor) {
    fillDefault(argument, count, arg);
    return {};
  }
  stageInput(*tensor, shape.dims, shape.rank, arg);
  return checkValues(argument, arg, shape.dims, shape.rank);
}

Result<void> Executor::stageInputs(const Entry &entry,
                                   const EntryLayout &places, const Call &call,
                                   void **args) {
  for (size_t i = 0; i != entry.inputs.size(); ++i)
    if (Result<void> done = stage(entry.inputs[i], places.inputs[i],
                                  call.input(i), call.inputShape(i), args[i]);
        !done)
      return done;
  return {};
}

/// Builds one ragged batch table from a mask, or for a batch without padding.
Result<void> Executor::buildRaggedBatch(const Entry &entry,
                                        const RaggedBatchRule &rule,
                                        const RaggedBatchLayout &table,
                                        const Call &call, void *const *args,
                                        transom_ragged_batch &ragged) {
  int64_t batch, columns;
  if (!rule.batch.evaluate(call.symbols(), batch) ||
      !rule.columns.evaluate(call.symbols(), columns) || batch < 0 ||
      columns < 0 || batch > table.maxBatch)
    return limitError("a batch of " + std::to_string(batch) +
                      " is over the session's max_batch " +
                      std::to_string(settings.maxBatch));
  // Count the tokens before the table is written.
  bool isBool =
      rule.mask >= 0 && entry.inputs[rule.mask].dtype == TRANSOM_DTYPE_BOOL;
  const void *mask = rule.mask >= 0 ? args[rule.mask] : nullptr;
  auto words = static_cast<const int64_t *>(mask);
  auto bytes = static_cast<const uint8_t *>(mask);
  int64_t tokens = !mask ? batch * columns
                   : isBool
                       ? countTokens(bytes, batch, columns, rule.keepFirst)
                       : countTokens(words, batch, columns, rule.keepFirst);
  if (tokens > table.maxTokens)
    return limitError(std::to_string(tokens) +
                      " tokens are over the session's max_tokens " +
                      std::to_string(settings.maxTokens));
  RaggedBatchStorage storage{
      at<transom_sequence>(table.sequences), at<int32_t>(table.tokenSequence),
      at<int32_t>(table.tokenColumn), at<int64_t>(table.tokenKey)};
  if (!mask)
    buildUniform(batch, columns, storage, ragged);
  else if (isBool)
    buildRagged(bytes, batch, columns, rule.keepFirst, storage, ragged);
  else
    buildRagged(words, batch, columns, rule.keepFirst, storage, ragged);
  call.symbols()[rule.tokensSymbol] = tokens;
  call.symbols()[rule.keysSymbol] = ragged.key_positions;
  return {};
}

Result<void> Executor::buildRaggedBatches(const Entry &entry,
                                          const EntryLayout &places,
                                          const Call &call, void *const *args) {
  auto *ragged = at<transom_ragged_batch>(places.ragged);
  for (size_t i = 0; i != entry.ragged.size(); ++i)
    TRANSOM_TRY(buildRaggedBatch(entry, entry.ragged[i], places.tables[i], call,
                                 args, ragged[i]));
  return {};
}

Result<void> Executor::placeBuffers(const Entry &entry, int64_t *symbols,
                                    transom_frame &frame) {
  const EntryLayout &places = getLayout(entry);
  int64_t needed;
  if (!entry.arenaBytes.evaluate(symbols, needed) || needed < 0 ||
      uint64_t(needed) > places.arenaBytes)
    return limitError("the call needs an arena of " + std::to_string(needed) +
                      " bytes, the session's has " +
                      std::to_string(places.arenaBytes));
  uint64_t unused = 0;
  if (settings.arenaAtEnd)
    unused = (layout.arena.bytes - uint64_t(needed)) / 64 * 64;
  frame.arena = mapping.base() + layout.arena.offset + unused;
  const std::vector<Region> &kept =
      layout.kept[size_t(&entry - source.entries().data())];
  auto *offsets = at<int64_t>(places.offsets);
  for (size_t i = 0; i != entry.offsets.size(); ++i) {
    if (kept[i].bytes) {
      offsets[i] = getRest(kept[i]) - frame.arena;
      continue;
    }
    if (!entry.offsets[i].evaluate(symbols, offsets[i]) || offsets[i] < 0 ||
        offsets[i] > needed)
      return rejected("entry '" + entry.manifest->name + "': buffer " +
                      std::to_string(i) + " is outside of the arena");
    // The plan has room for the alignment.
    offsets[i] = alignToBuffer(offsets[i]);
  }
  frame.offsets = offsets;
  frame.symbols = symbols;
  frame.weights = source.code().weights;
  frame.args = at<void *>(places.args);
  frame.ragged_batches = at<transom_ragged_batch>(places.ragged);
  frame.counters = at<int64_t>(layout.counters);
  return {};
}

Result<void> Executor::placeOutputs(const Entry &entry,
                                    const EntryLayout &places, const Call &call,
                                    void **args) const {
  for (size_t i = 0; i != entry.outputs.size(); ++i) {
    const transom_tensor *tensor = call.output(i);
    const ShapeValue &shape = call.outputShape(i);
    uint64_t size = getElementSize(entry.outputs[i].dtype);
    if (tensor && isDense(*tensor, shape.dims, shape.rank) &&
        uintptr_t(tensor->data) % size == 0) {
      args[i] = tensor->data;
      continue;
    }
    const Region &room = places.outputs[i];
    if (uint64_t(Call::getElementCount(shape)) > room.bytes / size)
      return limitError("result '" + entry.outputs[i].name + "' of shape " +
                        shapeText(shape.dims, shape.rank) +
                        " does not fit what the session holds for max_tokens " +
                        std::to_string(settings.maxTokens));
    args[i] = getRest(room);
  }
  return {};
}

Result<void> Executor::execute(const Entry &entry, const transom_frame &frame) {
  if (getpid() != owner)
    return usageError("the session was created before fork(), its threads do "
                      "not exist in this process; create a session after "
                      "fork()");
  // Set up the run.
  ExecutorRun run;
  run.frame = &frame;
  run.entry = entry.code;
  run.phases = source.isa().phases;
  run.layers = source.code().layers;
  run.numWorkers = settings.threads;
  run.cancel = &cancelFlag;
  run.oneDnn = oneDnn.get();
  run.calls = entry.calls.data();
  // Reset the times of the last run.
  if (settings.profile) {
    run.nanoseconds = at<int64_t>(layout.profile);
    std::fill_n(run.nanoseconds, entry.code->num_dispatches, 0);
    profiledDispatches = size_t(entry.code->num_dispatches);
  }
  if (settings.trace)
    run.workerTimes = at<transom_worker_time>(layout.workerTimes);
  // Run on the threads that the settings choose.
  bool done = true;
  if (settings.observer)
    done = run.runObserved(*settings.observer);
  else if (!pool)
    done = team ? run.runOnTeam(*team) : run.runOnCaller();
  else {
    TRANSOM_ASSIGN(done, run.runOnHost(*pool));
  }
  if (run.failed)
    return internalError(oneDnn->message());
  if (done)
    return {};
  cancelFlag.store(0, std::memory_order_relaxed);
  return Error{cancelledStatus, "the call was cancelled", {}};
}

void Executor::finishOutputs(const Entry &entry, const Call &call,
                             void *const *args, transom_tensor *outputs,
                             size_t count) const {
  for (size_t i = 0; i != count; ++i) {
    transom_tensor &tensor = outputs[i];
    int index = entry.outputIndex(tensor.name);
    const ShapeValue &shape = call.outputShape(size_t(index));
    transom_dtype dtype = entry.outputs[size_t(index)].dtype;
    if (args[index] != tensor.data)
      unstageResult(args[index], tensor, shape.dims, shape.rank,
                    getElementSize(dtype));
    tensor.dtype = dtype;
    tensor.rank = int32_t(shape.rank);
    std::copy_n(shape.dims, shape.rank, tensor.shape);
  }
}

Result<void> Executor::takeCancel() {
  if (cancelFlag.exchange(0, std::memory_order_relaxed))
    return Error{cancelledStatus, "the call was cancelled", {}};
  return {};
}

/// Checks and stages a call's inputs and builds its tables.
Result<void> Executor::prepare(const Entry &entry, Call &call,
                               const transom_tensor *inputs,
                               size_t inputCount) {
  // Check the inputs and bind the symbols.
  const EntryLayout &regions = getLayout(entry);
  TRANSOM_TRY(call.bindInputs(inputs, inputCount, true));
  TRANSOM_TRY(call.checkMaxima());
  TRANSOM_TRY(call.checkCapacity(settings));
  if (entry.workersSymbol >= 0)
    call.symbols()[entry.workersSymbol] = settings.threads;

  // Stage the inputs and build the tables that depend on them.
  void **args = at<void *>(regions.args);
  TRANSOM_TRY(stageInputs(entry, regions, call, args));
  return buildRaggedBatches(entry, regions, call, args);
}

Result<void> Executor::run(const Entry &entry, const transom_tensor *inputs,
                           size_t inputCount, transom_tensor *outputs,
                           size_t outputCount) {
  Call call(entry, getStorage(entry));
  TRANSOM_TRY(prepare(entry, call, inputs, inputCount));

  // Lay out results and buffers, run, and copy the results that need it.
  const EntryLayout &regions = getLayout(entry);
  void **args = at<void *>(regions.args);
  TRANSOM_TRY(call.bindOutputs(outputs, outputCount, settings.holdResults));
  void **results = args + entry.inputs.size();
  TRANSOM_TRY(placeOutputs(entry, regions, call, results));
  transom_frame frame{};
  TRANSOM_TRY(placeBuffers(entry, call.symbols(), frame));
  TRANSOM_TRY(execute(entry, frame));
  finishOutputs(entry, call, results, outputs, outputCount);
  return {};
}

Result<void> Executor::fill(const Entry &entry, const transom_tensor *inputs,
                            size_t inputCount, const SourceCaches &caches) {
  Call call(entry, getStorage(entry));
  TRANSOM_TRY(prepare(entry, call, inputs, inputCount));

  // Rows are written to their sequence's blocks.
  const EntryLayout &regions = getLayout(entry);
  const auto *tables = at<transom_ragged_batch>(regions.ragged);
  for (size_t i = 0; i != entry.ragged.size(); ++i) {
    auto *sequences = at<transom_sequence>(regions.tables[i].sequences);
    for (int64_t b = 0; b != tables[i].num_sequences; ++b)
      sequences[b].first_block = caches.firstBlocks[b];
  }
  transom_frame frame{};
  TRANSOM_TRY(placeBuffers(entry, call.symbols(), frame));
  frame.caches = caches.caches;
  return execute(entry, frame);
}

Result<void> Executor::shape(const Entry &entry, const transom_tensor *inputs,
                             size_t inputCount, const char *result,
                             transom_tensor &out) {
  ShapeStorage storage(entry);
  Call call(entry, storage.view());
  TRANSOM_TRY(call.bindInputs(inputs, inputCount, false));
  TRANSOM_TRY(call.checkMaxima());
  const std::string name = result ? result : "";
  const int index = entry.outputIndex(name.c_str());
  if (index < 0)
    return rejected("entry '" + entry.manifest->name + "' has no result '" +
                    name + "'; it has: " + joinNames(entry.outputNames()) +
                    suggest(name, entry.outputNames()));
  TRANSOM_TRY(call.shapeOutput(size_t(index)));
  const ShapeValue &shape = call.outputShape(size_t(index));
  out.dtype = entry.outputs[size_t(index)].dtype;
  out.rank = int32_t(shape.rank);
  std::copy_n(shape.dims, shape.rank, out.shape);
  out.capacity =
      size_t(Call::getElementCount(shape)) * getElementSize(out.dtype);
  return {};
}

void *Executor::heldResult(const Entry &entry, size_t output,
                           uint64_t bytes) const {
  const Region &room = getLayout(entry).outputs[output];
  return room.bytes && room.bytes >= bytes ? getRest(room) : nullptr;
}

const int64_t *Executor::profile(size_t &numDispatches) const {
  numDispatches = settings.profile ? profiledDispatches : 0;
  return settings.profile ? at<int64_t>(layout.profile) : nullptr;
}

const transom_worker_time *Executor::workerTimes(size_t &numDispatches) const {
  numDispatches = settings.trace ? profiledDispatches : 0;
  return settings.trace ? at<transom_worker_time>(layout.workerTimes) : nullptr;
}
