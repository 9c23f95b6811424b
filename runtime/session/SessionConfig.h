// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The options of a session with defaults filled in, its memory, and the options
// that a given call needs.
#pragma once
#include "runtime/decode/DecodeLayout.h"
#include "runtime/session/DerivedEntries.h"
#include "runtime/session/Model.h"
#include <optional>

namespace transom {

/// What a session holds.
struct SessionConfig : ExecutorConfig, DecodeConfig {
  /// Fills in defaults; `options` may be NULL. `Usage` for values out of range.
  static Result<SessionConfig> from(const Model &model,
                                    const transom_session_options *options);
};

/// The memory of a session.
struct SessionLayout {
  ExecutorLayout executor;
  std::optional<DecodeLayout> decode; ///< of a model with a step
  DerivedEntryLayout derived;
  uint64_t total = 0; ///< bytes that the session maps

  /// Plans it; `Limit` when sizes overflow or exceed the limit.
  static Result<SessionLayout> plan(const Model &model,
                                    const SessionConfig &config);
};

/// The maximum sizes of a session.
struct Capacity {
  int64_t maxBatch = 0, maxTokens = 0;
  int64_t maxSequences = 0, maxKvTokens = 0; ///< of a decoder
  int64_t maxSourceTokens = 0;               ///< of an encoder-decoder
};

/// Raises a capacity so that a session for it takes a run of the entry on
/// inputs of these shapes.
Result<void> fitCapacity(const Model &model, const char *entry,
                         const transom_tensor *inputs, size_t inputCount,
                         Capacity &capacity);

/// The error for running an entry on tensors that takes sequences.
Result<void> checkRunnable(const Entry &entry);

} // namespace transom
