// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of a decode engine, which is part of the executor's mapping.
#pragma once
#include "runtime/execute/ExecutorLayout.h"
#include "runtime/kvcache/KvPlan.h"

namespace transom {

/// Floats of the rows that the entries of a decoder give and take.
struct DecodeWidths {
  int64_t logits = 0; ///< of the step's result
  int64_t states = 0; ///< of the encoder's result; 0: no encoder
  int64_t groups = 0; ///< of the summary of logits; 0: no summary
};

/// A source of a call: the columns up to its last token, and its index.
struct SourceOrder {
  int64_t columns, index;
};

/// The regions of a decode engine, which last from call to call.
struct DecodeLayout {
  KvPlan plan;
  Region lengths, firstBlocks, blockTables, refCounts, freeBlocks;
  Region usedPositions, caches;
  Region logits;         ///< rows that a step returns, and one of scratch
  Region maxima, sums;   ///< their summary
  int64_t maxLogits = 0; ///< number of rows that a step returns
  /// Of an encoder-decoder, for one run of the encoder: [max_tokens] of padded
  /// ids, mask and states, [max_batch] first entries in the block tables,
  /// [max_sequences] sources of a call.
  Region sourceIds, sourceMask, states, sourceBlocks, sourceOrder;
  Region blocks; ///< offset from the start of the mapping; whole pages

  /// Plans the caches of a decoder.
  static Result<DecodeLayout> create(const ManifestDecoder &decoder,
                                     const DecodeWidths &widths,
                                     const ExecutorConfig &config,
                                     const DecodeConfig &decode);
  /// Adds the sizes of the regions and the bounds to an extension.
  void addTo(ExecutorExtension &extension, const DecodeWidths &widths,
             const ExecutorConfig &config) const;
  /// Takes the regions from the executor's layout.
  void place(const ExecutorLayout &executor);
};

} // namespace transom
