// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session: the memory and threads to call a model's entries with. All memory
// is taken when it is made; a call allocates nothing.
#pragma once
#include "runtime/decode/DecodeEngine.h"
#include "runtime/decode/DerivedEntries.h"
#include "runtime/execute/Call.h"
#include "runtime/execute/RaggedBatch.h"
#include "runtime/execute/SessionLayout.h"
#include "runtime/execute/Team.h"
#include <atomic>
#include <memory>

namespace transom {

/// The status of a call that transom_session_cancel() ended.
inline constexpr Status cancelledStatus = Status(TRANSOM_STATUS_CANCELLED);

/// The session's memory, protected pages before, between and behind. Move-only.
class Mapping {
public:
  /// Maps what a layout says; `Limit` when the system does not give so much.
  static Result<Mapping> create(const SessionLayout &layout);
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

/// The entry of that name; `Usage` with the names that there are.
Result<const Entry *> findEntry(const Model &model, const char *name);

/// What a session has to have room for.
struct Capacity {
  int64_t maxBatch = 0, maxTokens = 0;
  int64_t maxSequences = 0, maxKvTokens = 0; ///< of a decoder
};

/// Raises a capacity so that a session for it takes a run of the entry on
/// inputs of these shapes.
Result<void> fitCapacity(const Model &model, const char *entry,
                         const transom_tensor *inputs, size_t inputCount,
                         Capacity &capacity);

class Session {
public:
  /// Takes the memory and starts the threads. `model` outlives the session.
  static Result<std::unique_ptr<Session>> create(const Model &model,
                                                 const SessionConfig &config);

  /// Runs an entry, as transom_session_run().
  Result<void> run(const char *entry, const transom_tensor *inputs,
                   size_t inputCount, transom_tensor *outputs,
                   size_t outputCount);
  /// As transom_session_shape().
  Result<void> shape(const char *entry, const transom_tensor *inputs,
                     size_t inputCount, const char *name,
                     transom_tensor &result) const;
  /// Sequences and steps; NULL when the model has no `step`.
  Decoder *decoder() const { return decoderPart.get(); }
  void cancel() { cancelFlag.store(1, std::memory_order_relaxed); }
  /// An error when the call was cancelled before it began; forgets it.
  Result<void> takeCancel();

  const Model &model() const { return source; }
  const SessionConfig &config() const { return settings; }
  /// Bytes that are mapped.
  uint64_t memory() const { return mapping.size(); }
  /// The held room of a result of an entry: where a run leaves it that does not
  /// ask for it. Valid until the next run.
  const void *heldResult(size_t entry, size_t output) const;
  /// Nanoseconds of each step of the last run; NULL without a profile.
  const int64_t *profile(size_t &steps) const;
  /// When each share of each step of the last run began and ended, by step and
  /// part; NULL without a trace.
  const transom_worker_time *shares(size_t &steps) const;

  /// Likewise, NULL where there is no room for so many bytes.
  void *heldResult(const Entry &entry, size_t output, uint64_t bytes) const;
  /// The storage of a call of an entry.
  CallStorage callStorage(const Entry &entry) const {
    return storageOf(placesOf(entry));
  }
  /// What loops over the decoder's step work on.
  LoopStorage loopStorage() const;

private:
  friend class Decoder;
  Session(const Model &model, const SessionConfig &config)
      : source(model), settings(config) {}
  const EntryLayout &placesOf(const Entry &entry) const {
    return layout.entries[size_t(&entry - source.entries().data())];
  }
  char *restAt(const Region &region) const {
    return mapping.base() + layout.restOffset + region.offset;
  }
  template <typename T> T *at(const Region &region) const {
    return reinterpret_cast<T *>(restAt(region));
  }
  CallStorage storageOf(const EntryLayout &places) const;
  Result<void> stageInputs(const Entry &entry, const EntryLayout &places,
                           const Call &call, void **args);
  Result<void> stage(const Argument &argument, const Region &room,
                     const transom_tensor *tensor, const ShapeValue &shape,
                     void *&arg);
  Result<void> buildSegments(const Entry &entry, const EntryLayout &places,
                             const Call &call, void *const *args);
  Result<void> placeBuffers(const Entry &entry, const EntryLayout &places,
                            const int64_t *symbols, transom_frame &frame);
  Result<void> placeOutputs(const Entry &entry, const EntryLayout &places,
                            const Call &call, void **args) const;
  Result<void> walk(const Entry &entry, const transom_frame &frame);
  void finishOutputs(const Entry &entry, const Call &call, void *const *args,
                     transom_tensor *outputs, size_t count) const;

  const Model &source;
  SessionConfig settings;
  SessionLayout layout;
  Mapping mapping;
  std::unique_ptr<Team> team; // NULL: other threads, or the caller alone
  std::unique_ptr<OneDnnSession> oneDnn; // NULL: no step is oneDNN's
  std::unique_ptr<Decoder> decoderPart;  // NULL: no decoder
  std::atomic<uint32_t> cancelFlag{0};
  size_t profiledSteps = 0;
};

} // namespace transom
