// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call: bind and check, stage, build tables, place buffers, walk, copy out.
// Everything that can fail comes before the walk, and nothing of the caller's
// is written before it.
#include "runtime/execute/Session.h"
#include "runtime/base/Suggest.h"
#include "runtime/execute/Executor.h"
#include "runtime/execute/Tensor.h"
#include "runtime/generate/Generate.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace transom;

Result<Mapping> Mapping::create(const SessionLayout &layout) {
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
  if (!layout.kv || layout.kv->blocks.bytes == 0)
    return mapping;
  // Pages of a cache are taken as they are written.
  const Region &blocks = layout.kv->blocks;
  void *cache =
      mmap(mapping.begin + blocks.offset, blocks.bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (cache == MAP_FAILED)
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

Result<std::unique_ptr<Session>> Session::create(const Model &model,
                                                 const SessionConfig &config) {
  std::unique_ptr<Session> session(new Session(model, config));
  TRANSOM_ASSIGN(SessionLayout layout, SessionLayout::plan(model, config));
  session->layout = std::move(layout);
  TRANSOM_ASSIGN(Mapping mapping, Mapping::create(session->layout));
  session->mapping = std::move(mapping);
  if (session->layout.kv)
    session->decoderPart = std::make_unique<Decoder>(*session);
  if (model.oneDnn()) {
    TRANSOM_ASSIGN(std::unique_ptr<OneDnnSession> made,
                   OneDnnSession::create(*model.oneDnn(), config.threads));
    session->oneDnn = std::move(made);
    // One set of threads for both kinds of steps: two would spin at once.
    if (!config.parallel && session->oneDnn->parallel()) {
      session->settings.parallel = session->oneDnn->parallel();
      session->settings.parallelContext = session->oneDnn->handle();
    }
  }
  if (config.threads > 1 && !session->settings.parallel) {
    TRANSOM_ASSIGN(std::unique_ptr<Team> team, Team::create(config.threads));
    session->team = std::move(team);
  }
  return session;
}

Result<const Entry *> transom::findEntry(const Model &model, const char *name) {
  if (const Entry *entry = model.findEntry(name ? name : ""))
    return entry;
  std::vector<std::string> names;
  for (const Entry &entry : model.entries())
    names.push_back(entry.manifest->name);
  std::string wanted = name ? name : "";
  return usageError("the model has no entry '" + wanted +
                    "'; it has: " + joinNames(names) + suggest(wanted, names));
}

/// A step has sequences, which tensors alone do not tell.
static Error stepIsNoRun(const Entry &entry) {
  return usageError("entry '" + entry.manifest->name +
                    "' is called by transom_session_step(), not on tensors");
}

namespace {
/// Memory for a call that only asks about shapes.
struct ShapeStorage {
  explicit ShapeStorage(const Entry &entry)
      : symbols(entry.symbols.size()),
        tensors(entry.inputs.size() + entry.outputs.size()),
        shapes(tensors.size()) {}
  CallStorage view() { return {symbols.data(), tensors.data(), shapes.data()}; }
  std::vector<int64_t> symbols;
  std::vector<const transom_tensor *> tensors;
  std::vector<ShapeValue> shapes;
};
} // namespace

/// A loop cuts its rows into steps, so any max_tokens will do: one that holds
/// all rows or fills a walk is quick. Its sequences may stand in the cache in
/// turn. What `generate` adds to them depends on its settings.
static void fitLoop(const Entry &entry, const Call &call, Capacity &capacity) {
  constexpr int64_t walkRows = 1024, together = 8;
  int64_t batch = call.inputShape(0).dims[0];
  int64_t columns = call.inputShape(0).dims[1];
  capacity.maxBatch = std::max(capacity.maxBatch, batch);
  capacity.maxTokens = std::max(
      capacity.maxTokens,
      columns >= walkRows ? walkRows : std::min(walkRows, batch * columns));
  if (entry.manifest->loop == "generate")
    return;
  int64_t sequences = std::min(batch, together);
  capacity.maxSequences = std::max(capacity.maxSequences, sequences);
  capacity.maxKvTokens = std::max(capacity.maxKvTokens, sequences * columns);
}

Result<void> transom::fitCapacity(const Model &model, const char *name,
                                  const transom_tensor *inputs,
                                  size_t inputCount, Capacity &capacity) {
  TRANSOM_ASSIGN(const Entry *entry, findEntry(model, name));
  if (entry->isStep())
    return stepIsNoRun(*entry);
  ShapeStorage storage(*entry);
  Call call(*entry, storage.view());
  if (Result<void> done = call.bindInputs(inputs, inputCount, false); !done)
    return done;
  if (entry->isLoop()) {
    fitLoop(*entry, call, capacity);
    return {};
  }
  if (Result<void> done = call.checkMaxima(); !done)
    return done;
  return call.raiseCapacity(capacity.maxBatch, capacity.maxTokens);
}

CallStorage Session::storageOf(const EntryLayout &places) const {
  return {at<int64_t>(places.symbols),
          at<const transom_tensor *>(places.tensors),
          at<ShapeValue>(places.shapes)};
}

/// Fills `count` elements of a staged input with its default.
static void fillDefault(const Argument &argument, int64_t count, void *out) {
  int64_t value = *argument.fallback;
  if (argument.isInteger())
    std::fill_n(static_cast<int64_t *>(out), count, value);
  else if (argument.dtype == TRANSOM_DTYPE_BOOL)
    std::fill_n(static_cast<uint8_t *>(out), count, uint8_t(value));
  else
    std::fill_n(static_cast<float *>(out), count, float(value));
}

Result<void> Session::stage(const Argument &argument, const Region &room,
                            const transom_tensor *tensor,
                            const ShapeValue &shape, void *&arg) {
  if (tensor && !argument.alwaysStaged() &&
      isDense(*tensor, shape.dims, shape.rank) &&
      uintptr_t(tensor->data) % sizeof(float) == 0) {
    arg = tensor->data;
    return {};
  }
  int64_t count = Call::elementsOf(shape);
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
  arg = restAt(room);
  if (!tensor) {
    fillDefault(argument, count, arg);
    return {};
  }
  stageInput(*tensor, shape.dims, shape.rank, arg);
  return checkValues(argument, arg, shape.dims, shape.rank);
}

Result<void> Session::stageInputs(const Entry &entry, const EntryLayout &places,
                                  const Call &call, void **args) {
  for (size_t i = 0; i != entry.inputs.size(); ++i)
    if (Result<void> done = stage(entry.inputs[i], places.inputs[i],
                                  call.input(i), call.inputShape(i), args[i]);
        !done)
      return done;
  return {};
}

Result<void> Session::buildSegments(const Entry &entry,
                                    const EntryLayout &places, const Call &call,
                                    void *const *args) {
  auto *segments = at<transom_segments>(places.segments);
  for (size_t i = 0; i != entry.segments.size(); ++i) {
    const SegmentsRule &rule = entry.segments[i];
    const SegmentsLayout &table = places.tables[i];
    int64_t batch, columns;
    if (!rule.batch.evaluate(call.symbols(), batch) ||
        !rule.columns.evaluate(call.symbols(), columns) || batch < 0 ||
        columns < 0 || batch > table.maxBatch)
      return limitError("a batch of " + std::to_string(batch) +
                        " is over the session's max_batch " +
                        std::to_string(settings.maxBatch));
    bool isBool =
        rule.mask >= 0 && entry.inputs[rule.mask].dtype == TRANSOM_DTYPE_BOOL;
    const void *mask = rule.mask >= 0 ? args[rule.mask] : nullptr;
    auto words = static_cast<const int64_t *>(mask);
    auto bytes = static_cast<const uint8_t *>(mask);
    int64_t rows = !mask    ? batch * columns
                   : isBool ? countRows(bytes, batch, columns, rule.keepFirst)
                            : countRows(words, batch, columns, rule.keepFirst);
    if (rows > table.maxRows)
      return limitError(std::to_string(rows) +
                        " rows are over the session's max_tokens " +
                        std::to_string(settings.maxTokens));
    SegmentsStorage storage{
        at<transom_sequence>(table.sequences), at<int32_t>(table.rowSequence),
        at<int32_t>(table.rowColumn), at<int64_t>(table.rowKey)};
    if (!mask)
      buildUniform(batch, columns, storage, segments[i]);
    else if (isBool)
      buildRagged(bytes, batch, columns, rule.keepFirst, storage, segments[i]);
    else
      buildRagged(words, batch, columns, rule.keepFirst, storage, segments[i]);
    call.symbols()[rule.rowsSymbol] = rows;
    call.symbols()[rule.keysSymbol] = segments[i].key_positions;
  }
  return {};
}

Result<void> Session::placeBuffers(const Entry &entry,
                                   const EntryLayout &places,
                                   const int64_t *symbols,
                                   transom_frame &frame) {
  int64_t needed;
  if (!entry.arenaBytes.evaluate(symbols, needed) || needed < 0 ||
      uint64_t(needed) > places.arenaBytes)
    return limitError("the call needs an arena of " + std::to_string(needed) +
                      " bytes, the session's has " +
                      std::to_string(places.arenaBytes));
  auto *offsets = at<int64_t>(places.offsets);
  for (size_t i = 0; i != entry.offsets.size(); ++i)
    if (!entry.offsets[i].evaluate(symbols, offsets[i]) || offsets[i] < 0 ||
        offsets[i] > needed)
      return rejected("entry '" + entry.manifest->name + "': buffer " +
                      std::to_string(i) + " lies outside the arena");
  uint64_t unused = 0;
  if (settings.arenaAtEnd)
    unused = (layout.arena.bytes - uint64_t(needed)) / 64 * 64;
  frame.arena = mapping.base() + layout.arena.offset + unused;
  frame.offsets = offsets;
  frame.symbols = symbols;
  frame.weights = source.code().weights;
  frame.args = at<void *>(places.args);
  frame.segments = at<transom_segments>(places.segments);
  frame.counters = at<int64_t>(layout.counters);
  return {};
}

Result<void> Session::placeOutputs(const Entry &entry,
                                   const EntryLayout &places, const Call &call,
                                   void **args) const {
  for (size_t i = 0; i != entry.outputs.size(); ++i) {
    const transom_tensor *tensor = call.output(i);
    const ShapeValue &shape = call.outputShape(i);
    uint64_t size = transom_dtype_size(entry.outputs[i].dtype);
    if (tensor && isDense(*tensor, shape.dims, shape.rank) &&
        uintptr_t(tensor->data) % size == 0) {
      args[i] = tensor->data;
      continue;
    }
    const Region &room = places.outputs[i];
    if (uint64_t(Call::elementsOf(shape)) > room.bytes / size)
      return limitError("result '" + entry.outputs[i].name + "' of shape " +
                        shapeText(shape.dims, shape.rank) +
                        " does not fit what the session holds for max_tokens " +
                        std::to_string(settings.maxTokens));
    args[i] = restAt(room);
  }
  return {};
}

Result<void> Session::walk(const Entry &entry, const transom_frame &frame) {
  Walk walk;
  walk.frame = &frame;
  walk.entry = entry.code;
  walk.phases = source.isa().phases;
  walk.rows = source.code().rows;
  walk.parts = settings.threads;
  walk.cancel = &cancelFlag;
  walk.oneDnn = oneDnn.get();
  walk.calls = entry.calls.data();
  if (settings.profile) {
    walk.nanoseconds = at<int64_t>(layout.profile);
    std::fill_n(walk.nanoseconds, entry.code->num_dispatches, 0);
    profiledSteps = size_t(entry.code->num_dispatches);
  }
  if (settings.trace)
    walk.shares = at<transom_worker_time>(layout.shares);
  bool done = settings.parallel
                  ? walk.onHost(settings.parallel, settings.parallelContext)
              : team ? walk.onTeam(*team)
                     : walk.alone();
  if (walk.failed)
    return internalError(oneDnn->message());
  if (done)
    return {};
  cancelFlag.store(0, std::memory_order_relaxed);
  return Error{cancelledStatus, "the call was cancelled", {}};
}

void Session::finishOutputs(const Entry &entry, const Call &call,
                            void *const *args, transom_tensor *outputs,
                            size_t count) const {
  for (size_t i = 0; i != count; ++i) {
    transom_tensor &tensor = outputs[i];
    int index = entry.outputIndex(tensor.name);
    const ShapeValue &shape = call.outputShape(size_t(index));
    transom_dtype dtype = entry.outputs[size_t(index)].dtype;
    if (args[index] != tensor.data)
      unstageResult(args[index], tensor, shape.dims, shape.rank,
                    transom_dtype_size(dtype));
    tensor.dtype = dtype;
    tensor.rank = int32_t(shape.rank);
    std::copy_n(shape.dims, shape.rank, tensor.shape);
  }
}

Result<void> Session::takeCancel() {
  if (cancelFlag.exchange(0, std::memory_order_relaxed))
    return Error{cancelledStatus, "the call was cancelled", {}};
  return {};
}

Result<void> Session::run(const char *name, const transom_tensor *inputs,
                          size_t inputCount, transom_tensor *outputs,
                          size_t outputCount) {
  TRANSOM_ASSIGN(const Entry *found, findEntry(source, name));
  const Entry &entry = *found;
  if (entry.isStep())
    return stepIsNoRun(entry);
  if (Result<void> done = takeCancel(); !done)
    return done;
  if (entry.manifest->loop == "generate")
    return runGenerate(*this, inputs, inputCount, outputs, outputCount);
  if (entry.isLoop())
    return runLoop(*this, entry, inputs, inputCount, outputs, outputCount);
  const EntryLayout &places = placesOf(entry);
  Call call(entry, storageOf(places));
  if (Result<void> done = call.bindInputs(inputs, inputCount, true); !done)
    return done;
  if (Result<void> done = call.checkMaxima(); !done)
    return done;
  if (Result<void> done = call.checkCapacity(settings); !done)
    return done;
  if (entry.partsSymbol >= 0)
    call.symbols()[entry.partsSymbol] = settings.threads;
  void **args = at<void *>(places.args);
  if (Result<void> done = stageInputs(entry, places, call, args); !done)
    return done;
  if (Result<void> done = buildSegments(entry, places, call, args); !done)
    return done;
  if (Result<void> done =
          call.bindOutputs(outputs, outputCount, settings.holdResults);
      !done)
    return done;
  void **results = args + entry.inputs.size();
  if (Result<void> done = placeOutputs(entry, places, call, results); !done)
    return done;
  transom_frame frame{};
  if (Result<void> done = placeBuffers(entry, places, call.symbols(), frame);
      !done)
    return done;
  if (Result<void> done = walk(entry, frame); !done)
    return done;
  finishOutputs(entry, call, results, outputs, outputCount);
  return {};
}

Result<void> Session::shape(const char *name, const transom_tensor *inputs,
                            size_t inputCount, const char *result,
                            transom_tensor &out) const {
  TRANSOM_ASSIGN(const Entry *found, findEntry(source, name));
  const Entry &entry = *found;
  if (entry.isStep())
    return stepIsNoRun(entry);
  if (entry.manifest->loop == "generate")
    return shapeGenerate(*this, inputs, inputCount, result, out);
  ShapeStorage storage(entry);
  Call call(entry, storage.view());
  if (Result<void> done = call.bindInputs(inputs, inputCount, false); !done)
    return done;
  if (Result<void> done = call.checkMaxima(); !done)
    return done;
  int index = result ? entry.outputIndex(result) : -1;
  if (index < 0) {
    std::string wanted = result ? result : "";
    return rejected("entry '" + entry.manifest->name + "' has no result '" +
                    wanted + "'; it has: " + joinNames(entry.outputNames()) +
                    suggest(wanted, entry.outputNames()));
  }
  if (Result<void> done = call.shapeOutput(size_t(index)); !done)
    return done;
  const ShapeValue &shape = call.outputShape(size_t(index));
  out.dtype = entry.outputs[size_t(index)].dtype;
  out.rank = int32_t(shape.rank);
  std::copy_n(shape.dims, shape.rank, out.shape);
  out.capacity =
      size_t(Call::elementsOf(shape)) * transom_dtype_size(out.dtype);
  return {};
}

const void *Session::heldResult(size_t entry, size_t output) const {
  const Region &room = layout.entries[entry].outputs[output];
  return room.bytes ? restAt(room) : nullptr;
}

void *Session::heldResult(const Entry &entry, size_t output,
                          uint64_t bytes) const {
  const Region &room = placesOf(entry).outputs[output];
  return room.bytes >= bytes ? restAt(room) : nullptr;
}

LoopStorage Session::loopStorage() const {
  return {at<int64_t>(layout.kv->loopTokens),
          at<StepInput>(layout.kv->loopRows),
          at<int64_t>(layout.kv->loopBatchRows)};
}

const int64_t *Session::profile(size_t &steps) const {
  steps = settings.profile ? profiledSteps : 0;
  return settings.profile ? at<int64_t>(layout.profile) : nullptr;
}

const transom_worker_time *Session::shares(size_t &steps) const {
  steps = settings.trace ? profiledSteps : 0;
  return settings.trace ? at<transom_worker_time>(layout.shares) : nullptr;
}
