// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where everything of a session lies: one mapping, planned from the manifest's
// formulas and the session's options alone, so that its size can be told
// without making it.
#pragma once
#include "runtime/execute/Model.h"
#include "runtime/kvcache/KvPlan.h"
#include <vector>

namespace transom {

/// What a session is asked to hold, defaults filled in.
struct SessionConfig {
  unsigned threads = 1; ///< parts of a step
  int64_t maxBatch = 1;
  int64_t maxTokens = 1;
  int64_t maxSequences = 1; ///< of a decoder: in its cache
  int64_t maxKvTokens = 1;  ///< of a decoder: positions in its cache
  uint64_t memLimit = UINT64_MAX;
  transom_parallel parallel = nullptr;
  void *parallelContext = nullptr;
  bool holdResults = false;
  bool profile = false; ///< the time of each step
  bool trace = false;   ///< and of each share of it
  /// For tests: the arena ends, not begins, at a protected page.
  bool arenaAtEnd = false;

  /// Fills in defaults; `options` may be NULL. `Usage` for values that make
  /// no sense.
  static Result<SessionConfig> from(const Model &model,
                                    const transom_session_options *options);
};

/// A part of the session's mapping. Offsets count from its begin.
struct Region {
  uint64_t offset = 0, bytes = 0;
};

/// The regions of one segments table.
struct SegmentsLayout {
  Region sequences, rowSequence, rowColumn, rowKey;
  int64_t maxBatch = 0, maxRows = 0;
};

/// The regions of one entry; entries share space, one runs at a time.
struct EntryLayout {
  uint64_t arenaBytes = 0;
  Region symbols, offsets, args, shapes, tensors, segments;
  std::vector<SegmentsLayout> tables;
  std::vector<Region> inputs;  ///< staged inputs
  std::vector<Region> outputs; ///< held results
};

/// The regions of a decoder's cache, which last from call to call.
struct KvLayout {
  KvPlan plan;
  Region lengths, first, tables, users, free, caches;
  Region logits;         ///< rows that a step gives, and one to throw away
  int64_t maxWanted = 0; ///< those that it gives
  Region loopTokens, loopRows, loopBatchRows; ///< of LoopStorage
  Region blocks; ///< counts from the mapping's begin; whole pages
};

/// The whole mapping: page of protection, arena, page of protection, the rest,
/// page of protection, and of a decoder the blocks of its cache and another
/// page of protection.
struct SessionLayout {
  Region arena;    ///< whole pages
  Region counters; ///< zero between runs
  Region profile;  ///< one word a step
  Region shares;   ///< a transom_worker_time for each step and part
  std::vector<EntryLayout> entries;
  std::optional<KvLayout> kv;
  uint64_t total = 0;
  uint64_t page = 4096;
  uint64_t restOffset = 0, restBytes = 0; ///< what lies behind the arena

  /// Plans it; `Limit` when sizes overflow or are over the limit.
  static Result<SessionLayout> plan(const Model &model,
                                    const SessionConfig &config);
};

/// The shape of a tensor at run time.
struct ShapeValue {
  int64_t rank;
  int64_t dims[TRANSOM_MAX_RANK];
};

} // namespace transom
