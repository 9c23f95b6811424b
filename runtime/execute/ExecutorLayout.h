// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of an executor: one mapping, planned only from the manifest's
// formulas and the options, so that its size is known in advance.
#pragma once
#include "runtime/base/Checked.h"
#include "runtime/execute/Program.h"
#include <vector>

namespace transom {

class DispatchObserver;

/// Executor options, with defaults filled in.
struct ExecutorConfig {
  unsigned threads = 1; ///< workers per dispatch
  /// Use fewer threads if the system refuses some.
  bool fewerThreads = false;
  int64_t maxBatch = 1;
  int64_t maxTokens = 1;
  uint64_t memLimit = UINT64_MAX;
  transom_parallel parallel = nullptr;
  void *parallelContext = nullptr;
  bool holdResults = false;
  bool profile = false; ///< record the time of each dispatch
  bool trace = false;   ///< also per worker
  /// Observes the memory between dispatches, which then run on the caller's
  /// thread; may be null.
  DispatchObserver *observer = nullptr;
  /// For tests: the arena ends, not begins, at a guard page.
  bool arenaAtEnd = false;
};

/// A range in the mapping. Offsets are relative to the executor's `rest`.
struct Region {
  uint64_t offset = 0, bytes = 0;
};

/// Regions for one ragged batch table.
struct RaggedBatchLayout {
  Region sequences, tokenSequence, tokenColumn, tokenKey;
  int64_t maxBatch = 0, maxTokens = 0;
};

/// Regions for one entry. Entries share space: one runs at a time.
struct EntryLayout {
  uint64_t arenaBytes = 0;
  Region symbols, offsets, args, shapes, tensors, ragged;
  std::vector<RaggedBatchLayout> tables;
  std::vector<Region> inputs;  ///< staged inputs
  std::vector<Region> outputs; ///< held results
};

/// Additions by the executor's owner to its mapping and bounds.
struct ExecutorExtension {
  /// Sizes of persistent zeroed regions.
  std::vector<CheckedSize> regions;
  /// Bytes at the end of the mapping whose pages the system provides at the
  /// first write.
  CheckedSize lazyBytes{0};
  /// Bounds for entries over sequences with a past: number of sequences, keys
  /// per sequence, tokens with logits.
  int64_t maxSequences = 0, maxKeys = 0, maxLogits = 0;
  /// By cache group: keys per sequence in a read-only group, else 0.
  std::vector<int64_t> maxReadOnlyKeys;
  /// Suffix for the error if a session needs too much memory.
  std::string limitHint;
};

/// The mapping: guard page, arena, guard page, the rest, guard page; with an
/// extension also the lazy memory and another guard page.
struct ExecutorLayout {
  Region arena;       ///< whole pages; offset in the mapping
  Region counters;    ///< zero between runs
  Region profile;     ///< one word per dispatch
  Region workerTimes; ///< a transom_worker_time per dispatch and worker
  std::vector<EntryLayout> entries;
  /// Persistent buffers by entry and buffer.
  std::vector<std::vector<Region>> kept;
  std::vector<Region> extension; ///< the extension's regions
  Region lazy;                   ///< whole pages; offset in the mapping
  uint64_t total = 0;
  uint64_t page = 4096;
  uint64_t restOffset = 0, restBytes = 0; ///< the memory after the arena

  /// Plans the mapping. `extension` may be NULL. `Limit` if sizes overflow or
  /// exceed the limit.
  static Result<ExecutorLayout> plan(const Program &program,
                                     const ExecutorConfig &config,
                                     const ExecutorExtension *extension);
};

/// A tensor shape at run time.
struct ShapeValue {
  int64_t rank;
  int64_t dims[TRANSOM_MAX_RANK];
};

} // namespace transom
