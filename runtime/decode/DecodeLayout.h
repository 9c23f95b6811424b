// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a decode engine, which is part of the executor's mapping.
#pragma once
#include "runtime/execute/ExecutorLayout.h"
#include "runtime/kvcache/KvPlan.h"

namespace transom {

/// What a decode engine holds, with defaults filled in.
struct DecodeConfig {
  int64_t maxSequences = 1; ///< sequences in the caches
  int64_t maxKvTokens = 1;  ///< positions of all sequences in the caches
};

/// The regions of a decode engine, which last from call to call.
struct DecodeLayout {
  KvPlan plan;
  Region lengths, firstBlocks, blockTables, refCounts, freeBlocks, caches;
  Region logits;         ///< rows that a step returns, and one of scratch
  int64_t maxLogits = 0; ///< number of rows that a step returns
  Region blocks;         ///< offset from the start of the mapping; whole pages

  /// Plans the caches for a step that returns rows of `width` floats.
  static Result<DecodeLayout> create(const ManifestDecoder &decoder,
                                     int64_t width,
                                     const ExecutorConfig &config,
                                     const DecodeConfig &decode);
  /// Adds the sizes of the regions and the bounds to an extension.
  void addTo(ExecutorExtension &extension, int64_t width) const;
  /// Takes the regions from the executor's layout.
  void place(const ExecutorLayout &executor);
};

} // namespace transom
