// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of an executor: one mapping, planned from the manifest's formulas
// and the options alone, so that its size is known without creating it.
#pragma once
#include "runtime/base/Checked.h"
#include "runtime/execute/Program.h"
#include <vector>

namespace transom {

class DispatchObserver;

/// What an executor holds, with defaults filled in.
struct ExecutorConfig {
  unsigned threads = 1; ///< workers of a dispatch
  /// Use fewer threads if the system refuses some.
  bool fewerThreads = false;
  int64_t maxBatch = 1;
  int64_t maxTokens = 1;
  uint64_t memLimit = UINT64_MAX;
  transom_parallel parallel = nullptr;
  void *parallelContext = nullptr;
  bool holdResults = false;
  bool profile = false; ///< record the time of each dispatch
  bool trace = false;   ///< and of each worker
  /// Sees the memory between dispatches, which then run on the caller's thread;
  /// null: none does.
  DispatchObserver *observer = nullptr;
  /// For tests: the arena ends, not begins, at a protected page.
  bool arenaAtEnd = false;
};

/// A part of the mapping. Offsets count from the start of the executor's
/// `rest`.
struct Region {
  uint64_t offset = 0, bytes = 0;
};

/// The regions of the table of one ragged batch.
struct RaggedBatchLayout {
  Region sequences, tokenSequence, tokenColumn, tokenKey;
  int64_t maxBatch = 0, maxTokens = 0;
};

/// The regions of one entry. Entries share space: one runs at a time.
struct EntryLayout {
  uint64_t arenaBytes = 0;
  Region symbols, offsets, args, shapes, tensors, ragged;
  std::vector<RaggedBatchLayout> tables;
  std::vector<Region> inputs;  ///< staged inputs
  std::vector<Region> outputs; ///< held results
};

/// What the owner of an executor adds to its mapping and to its bounds.
struct ExecutorExtension {
  /// Sizes of zeroed regions that last from call to call.
  std::vector<CheckedSize> regions;
  /// Size of memory at the end of the mapping whose pages the system provides
  /// when they are first written.
  CheckedSize lazyBytes{0};
  /// Bounds of entries over sequences with a past: number of sequences, keys of
  /// one sequence, tokens with logits.
  int64_t maxSequences = 0, maxKeys = 0, maxLogits = 0;
  /// By group of caches: keys of one sequence in a read-only group, else 0.
  std::vector<int64_t> maxReadOnlyKeys;
  /// Ends the error for a session that needs too much memory.
  std::string limitHint;
};

/// The mapping: protected page, arena, protected page, the rest, protected
/// page; with an extension also the lazy memory and another protected page.
struct ExecutorLayout {
  Region arena;       ///< whole pages; offset from the start of the mapping
  Region counters;    ///< zero between runs
  Region profile;     ///< one word per dispatch
  Region workerTimes; ///< a transom_worker_time per dispatch and worker
  std::vector<EntryLayout> entries;
  /// By entry and buffer: the memory of those that last from call to call.
  std::vector<std::vector<Region>> kept;
  std::vector<Region> extension; ///< regions of the extension
  Region lazy;                   ///< whole pages; offset as of `arena`
  uint64_t total = 0;
  uint64_t page = 4096;
  uint64_t restOffset = 0, restBytes = 0; ///< the memory after the arena

  /// Plans the mapping. `extension` may be NULL. `Limit` when sizes overflow or
  /// exceed the limit.
  static Result<ExecutorLayout> plan(const Program &program,
                                     const ExecutorConfig &config,
                                     const ExecutorExtension *extension);
};

/// The shape of a tensor at run time.
struct ShapeValue {
  int64_t rank;
  int64_t dims[TRANSOM_MAX_RANK];
};

} // namespace transom
