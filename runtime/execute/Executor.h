// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the entries of a program on tensors. An executor owns the memory and the
// threads: all memory is mapped when it is created, and a call allocates
// nothing.
#pragma once
#include "runtime/execute/Call.h"
#include "runtime/execute/ExecutorLayout.h"
#include "runtime/execute/HostPool.h"
#include "runtime/execute/RaggedBatch.h"
#include "runtime/execute/Team.h"
#include <atomic>
#include <memory>
#include <unistd.h>

namespace transom {

/// The status of a call that transom_session_cancel() ended.
inline constexpr Status cancelledStatus = Status(TRANSOM_STATUS_CANCELLED);

/// The executor's memory, with protected pages before, between and after its
/// parts. Move-only.
class Mapping {
public:
  /// Maps what a layout says; `Limit` when the system refuses.
  static Result<Mapping> create(const ExecutorLayout &layout);
  Mapping() = default;
  Mapping(Mapping &&other) noexcept;
  Mapping &operator=(Mapping &&other) noexcept;
  ~Mapping();

  char *base() const { return begin; }
  uint64_t size() const { return bytes; }

private:
  char *begin = nullptr;
  uint64_t bytes = 0;
};

/// The entry of that name; `Usage` with the names that exist.
Result<const Entry *> findEntry(const Program &program, const char *name);

/// The arrays of a call that only asks about shapes.
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

/// The caches that a call of a source entry fills.
struct SourceCaches {
  const transom_kv_cache *caches; ///< [groups]
  const int64_t *firstBlocks;     ///< [batch] first entry in each block table
};

class Executor {
public:
  /// Maps the memory and starts the threads. `program` outlives the executor.
  static Result<std::unique_ptr<Executor>> create(const Program &program,
                                                  const ExecutorConfig &config,
                                                  ExecutorLayout layout);
  /// In a child process after fork() the threads do not exist: they are left
  /// alone.
  ~Executor();

  /// Runs an entry with code on tensors, as transom_session_run().
  Result<void> run(const Entry &entry, const transom_tensor *inputs,
                   size_t inputCount, transom_tensor *outputs,
                   size_t outputCount);
  /// Runs a source entry: writes keys and values of the rows of its batch into
  /// blocks that exist.
  Result<void> fill(const Entry &entry, const transom_tensor *inputs,
                    size_t inputCount, const SourceCaches &caches);
  /// The shape of a result, as transom_session_shape().
  static Result<void> shape(const Entry &entry, const transom_tensor *inputs,
                            size_t inputCount, const char *result,
                            transom_tensor &out);

  /// Calls body(context, index, worker) for all indices below `count`, on all
  /// threads; worker w of config().threads takes the indices w, w + threads,
  /// and so on. Denormals are kept. If a body throws, some indices are left
  /// out and the exception comes out of this function. `Usage` if the host's
  /// pool leaves tasks out. Not for use while a call runs.
  using Body = void (*)(void *context, size_t index, unsigned worker);
  Result<void> forEach(size_t count, Body body, void *context);

  /// Makes the current or the next call end at its next dispatch.
  void cancel() { cancelFlag.store(1, std::memory_order_relaxed); }
  /// An error if a call was cancelled before it began; clears the request.
  Result<void> takeCancel();

  const Program &program() const { return source; }
  const ExecutorConfig &config() const { return settings; }
  /// Bytes that are mapped.
  uint64_t memory() const { return mapping.size(); }
  /// The memory where a run writes a result that its caller leaves out, valid
  /// until the next run; NULL without a buffer, or if it is smaller than
  /// `bytes`.
  void *heldResult(const Entry &entry, size_t output, uint64_t bytes) const;
  /// Nanoseconds of each dispatch of the last run; NULL without a profile.
  const int64_t *profile(size_t &numDispatches) const;
  /// When each worker began and ended each dispatch of the last run,
  /// [dispatches][workers]; NULL without a trace.
  const transom_worker_time *workerTimes(size_t &numDispatches) const;

  // For the owner of an extension, which builds frames itself.

  const EntryLayout &getLayout(const Entry &entry) const {
    return layout.entries[size_t(&entry - source.entries().data())];
  }
  /// The arrays of a call of an entry.
  CallStorage getStorage(const Entry &entry) const;
  template <typename T> T *at(const Region &region) const {
    return reinterpret_cast<T *>(getRest(region));
  }
  char *getMapping() const { return mapping.base(); }
  /// Evaluates the offsets of an entry's buffers and fills in the frame.
  Result<void> placeBuffers(const Entry &entry, int64_t *symbols,
                            transom_frame &frame);
  /// Runs all dispatches of an entry. `Usage` in a child process after fork().
  Result<void> execute(const Entry &entry, const transom_frame &frame);

private:
  Executor(const Program &program, const ExecutorConfig &config,
           ExecutorLayout layout)
      : source(program), settings(config), layout(std::move(layout)),
        owner(getpid()) {}
  char *getRest(const Region &region) const {
    return mapping.base() + layout.restOffset + region.offset;
  }
  Result<void> startThreads();
  Result<void> prepare(const Entry &entry, Call &call,
                       const transom_tensor *inputs, size_t inputCount);
  Result<void> stageInputs(const Entry &entry, const EntryLayout &regions,
                           const Call &call, void **args);
  Result<void> stage(const Argument &argument, const Region &room,
                     const transom_tensor *tensor, const ShapeValue &shape,
                     void *&arg);
  Result<void> buildRaggedBatches(const Entry &entry,
                                  const EntryLayout &regions, const Call &call,
                                  void *const *args);
  Result<void> buildRaggedBatch(const Entry &entry, const RaggedBatchRule &rule,
                                const RaggedBatchLayout &table,
                                const Call &call, void *const *args,
                                transom_ragged_batch &ragged);
  Result<void> placeOutputs(const Entry &entry, const EntryLayout &regions,
                            const Call &call, void **args) const;
  void finishOutputs(const Entry &entry, const Call &call, void *const *args,
                     transom_tensor *outputs, size_t count) const;

  const Program &source;
  ExecutorConfig settings;
  ExecutorLayout layout;
  Mapping mapping;
  int owner;                      // the process that started the threads
  std::unique_ptr<Team> team;     // NULL: a host's threads, or the caller alone
  std::unique_ptr<HostPool> pool; // NULL unless there is a host's pool
  std::unique_ptr<OneDnnSession> oneDnn; // NULL: no dispatch is oneDNN's
  std::atomic<uint32_t> cancelFlag{0};
  size_t profiledDispatches = 0;
};

} // namespace transom
