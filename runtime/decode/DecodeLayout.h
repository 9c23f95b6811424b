// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory layout of a decode engine, which is part of the executor's
// mapping.
#pragma once
#include "runtime/execute/ExecutorLayout.h"
#include "runtime/kvcache/KvPlan.h"

namespace transom {

/// Row widths in floats for a decoder's entries.
struct DecodeWidths {
  int64_t logits = 0; ///< step result
  int64_t states = 0; ///< encoder result; 0: no encoder
  int64_t groups = 0; ///< logit summary; 0: no summary
};

/// A source in a call: the columns up to its last token, and its index.
struct SourceOrder {
  int64_t columns, index;
};

/// A decode engine's regions, which are persistent.
struct DecodeLayout {
  KvPlan plan;
  Region lengths, firstBlocks, blockTables, refCounts, freeBlocks;
  Region usedPositions, caches;
  Region logits;         ///< rows that a step returns, and a scratch row
  Region maxima, sums;   ///< their summary
  int64_t maxLogits = 0; ///< max rows that a step returns
  /// For an encoder-decoder and one encoder run: [max_tokens] padded ids, mask
  /// and states, [max_batch] first entries in the block tables, [max_sequences]
  /// sources in a call.
  Region sourceIds, sourceMask, states, sourceBlocks, sourceOrder;
  Region blocks; ///< offset in the mapping; whole pages

  /// Plans a decoder's caches.
  static Result<DecodeLayout> create(const ManifestDecoder &decoder,
                                     const DecodeWidths &widths,
                                     const ExecutorConfig &config,
                                     const DecodeConfig &decode);
  /// Adds the region sizes and the bounds to an extension.
  void addTo(ExecutorExtension &extension, const DecodeWidths &widths,
             const ExecutorConfig &config) const;
  /// Takes the regions from the executor's layout.
  void place(const ExecutorLayout &executor);
};

} // namespace transom
