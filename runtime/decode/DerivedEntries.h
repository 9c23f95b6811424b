// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a decoder that are loops over its step: `logits`, `score` and
// `encode` on a batch with padding. `generate` is in Generate.h.
#pragma once
#include "runtime/decode/StepCutter.h"
#include "runtime/execute/Call.h"

namespace transom {

class Session;

/// The session's memory for rows that wait for a step.
struct LoopStorage {
  int64_t *tokens;    ///< [max_tokens]
  StepInput *rows;    ///< [max_sequences]
  int64_t *batchRows; ///< [max_sequences]
};

/// Runs a loop entry as transom_session_run(). A row's real tokens are a
/// sequence of their own, in the cache for the time of the call; positions
/// count them. Errors come before results are written, but for cancellation and
/// numbers that are none.
Result<void> runLoop(Session &session, const Entry &entry,
                     const transom_tensor *inputs, size_t inputCount,
                     transom_tensor *outputs, size_t outputCount);

} // namespace transom
