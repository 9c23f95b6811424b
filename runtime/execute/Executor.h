// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a program's entries on tensors. An executor owns the memory and the
// threads: all memory is mapped at creation, and a call allocates nothing.
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

/// The status of a call ended by transom_session_cancel().
inline constexpr Status cancelledStatus = Status(TRANSOM_STATUS_CANCELLED);

/// The executor's memory, with guard pages before, between and after its
/// regions. Move-only.
class Mapping {
public:
  /// Maps a layout; `Limit` if the system refuses.
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

/// Finds the entry with that name; `Usage` with the existing names.
Result<const Entry *> findEntry(const Program &program, const char *name);

/// Arrays for a shape query.
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

/// The caches that a source entry call fills.
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
  /// In a child process after fork() the threads do not exist and are not
  /// joined.
  ~Executor();

  /// Runs an entry with code on tensors, as transom_session_run().
  Result<void> run(const Entry &entry, const transom_tensor *inputs,
                   size_t inputCount, transom_tensor *outputs,
                   size_t outputCount);
  /// Runs a source entry: writes keys and values for the rows in its batch into
  /// existing blocks.
  Result<void> fill(const Entry &entry, const transom_tensor *inputs,
                    size_t inputCount, const SourceCaches &caches);
  /// Computes a result's shape, as transom_session_shape().
  static Result<void> shape(const Entry &entry, const transom_tensor *inputs,
                            size_t inputCount, const char *result,
                            transom_tensor &out);

  /// Calls body(context, index, worker) for all indices below `count`, on all
  /// threads; worker w of config().threads takes the indices w, w + threads,
  /// and so on. Denormals are preserved. If a body throws, some indices are
  /// skipped and the exception leaves this function. `Usage` if the host's pool
  /// skips tasks. Must not be used while a call runs.
  using Body = void (*)(void *context, size_t index, unsigned worker);
  Result<void> forEach(size_t count, Body body, void *context);

  /// Makes the current or the next call end at its next dispatch.
  void cancel() { cancelFlag.store(1, std::memory_order_relaxed); }
  /// An error if a call was cancelled before it began; clears the request.
  Result<void> takeCancel();

  const Program &program() const { return source; }
  const ExecutorConfig &config() const { return settings; }
  /// Mapped bytes.
  uint64_t memory() const { return mapping.size(); }
  /// Memory where a run writes a result that its caller omits, valid until the
  /// next run; NULL without a buffer, or if it is smaller than `bytes`.
  void *heldResult(const Entry &entry, size_t output, uint64_t bytes) const;
  /// Nanoseconds per dispatch in the last run; NULL without a profile.
  const int64_t *profile(size_t &numDispatches) const;
  /// Begin and end of each dispatch on each worker in the last run,
  /// [dispatches][workers]; NULL without a trace.
  const transom_worker_time *workerTimes(size_t &numDispatches) const;

  // For the owner of an extension, which builds frames itself.

  const EntryLayout &getLayout(const Entry &entry) const {
    return layout.entries[size_t(&entry - source.entries().data())];
  }
  /// The arrays for a call of an entry.
  CallStorage getStorage(const Entry &entry) const;
  template <typename T> T *at(const Region &region) const {
    return reinterpret_cast<T *>(getRest(region));
  }
  char *getMapping() const { return mapping.base(); }
  /// Evaluates an entry's buffer offsets and fills in the frame.
  Result<void> placeBuffers(const Entry &entry, int64_t *symbols,
                            transom_frame &frame);
  /// Runs an entry's dispatches. `Usage` in a child process after fork().
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
  std::unique_ptr<Team> team;     // NULL: host threads, or only the caller
  std::unique_ptr<HostPool> pool; // NULL unless there is a host's pool
  std::unique_ptr<OneDnnSession> oneDnn; // NULL: oneDNN is not used
  std::atomic<uint32_t> cancelFlag{0};
  size_t profiledDispatches = 0;
};

} // namespace transom
