// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a decoder that run as steps: `logits`, `score` and `encode` on
// a batch with padding. `generate` is in Generate.h.
#pragma once
#include "runtime/decode/SourceEncoder.h"
#include "runtime/execute/Call.h"
#include "runtime/kvcache/StepCutter.h"

namespace transom {

class Executor;
class Session;

/// The session's memory for the inputs of a step.
struct DerivedEntryStorage {
  int64_t *tokens;    ///< [max_tokens]
  StepInput *inputs;  ///< [max_sequences]
  int64_t *batchRows; ///< [max_sequences] row of the batch of each input
  int32_t *sequences; ///< [max_sequences]
  /// Of an encoder-decoder: ids and masks of the sources of a group, one source
  /// after another [max_tokens], and the sources [max_sequences].
  int64_t *sourceIds, *sourceMask;
  SourceInput *sources;
};

/// The regions of that memory.
struct DerivedEntryLayout {
  Region tokens, inputs, batchRows, sequences;
  Region sourceIds, sourceMask, sources;

  /// Adds the sizes of the regions to an extension of the executor.
  static void addTo(ExecutorExtension &extension, int64_t maxTokens,
                    int64_t maxSequences, bool hasSources);
  /// Takes the regions from the executor's layout, from region `first` on.
  void place(const ExecutorLayout &executor, size_t first);
  DerivedEntryStorage getStorage(const Executor &executor) const;
};

/// Runs a derived entry as transom_session_run(). The real tokens of each row
/// are a sequence of their own, which is in the cache during the call; their
/// positions count real tokens. In an encoder-decoder they are those of the
/// target, and the sequence has the row's source. Results are written after all
/// checks, so only cancellation and logits that are not finite leave them
/// incomplete.
Result<void> runDerivedEntry(Session &session, const Entry &entry,
                             const transom_tensor *inputs, size_t inputCount,
                             transom_tensor *outputs, size_t outputCount);

} // namespace transom
