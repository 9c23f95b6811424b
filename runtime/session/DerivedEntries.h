// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoder entries that run as steps: `logits`, `score` and `encode` on a batch
// with padding. `generate` is in Generate.h.
#pragma once
#include "runtime/decode/SourceEncoder.h"
#include "runtime/execute/Call.h"
#include "runtime/kvcache/StepCutter.h"

namespace transom {

class Executor;
class Session;

/// The session's memory for step inputs.
struct DerivedEntryStorage {
  int64_t *tokens;    ///< [max_tokens]
  StepInput *inputs;  ///< [max_sequences]
  int64_t *batchRows; ///< [max_sequences] batch row for each input
  int32_t *sequences; ///< [max_sequences]
  /// For an encoder-decoder: ids and masks of a group's sources, one after
  /// another [max_tokens], and the sources [max_sequences].
  int64_t *sourceIds, *sourceMask;
  SourceInput *sources;
};

/// The regions in session memory.
struct DerivedEntryLayout {
  Region tokens, inputs, batchRows, sequences;
  Region sourceIds, sourceMask, sources;

  /// Adds the region sizes to an executor extension.
  static void addTo(ExecutorExtension &extension, int64_t maxTokens,
                    int64_t maxSequences, bool hasSources);
  /// Takes the regions from the executor's layout, starting with region
  /// `first`.
  void place(const ExecutorLayout &executor, size_t first);
  DerivedEntryStorage getStorage(const Executor &executor) const;
};

/// Runs a derived entry as transom_session_run(). The unpadded tokens in each
/// row are a separate sequence, which is in the cache during the call;
/// positions count unpadded tokens. In an encoder-decoder, the row's tokens are
/// the target, and the sequence has the row's source. Results are written after
/// all checks, so they are incomplete only after cancellation or a logit that
/// is not finite.
Result<void> runDerivedEntry(Session &session, const Entry &entry,
                             const transom_tensor *inputs, size_t inputCount,
                             transom_tensor *outputs, size_t outputCount);

} // namespace transom
