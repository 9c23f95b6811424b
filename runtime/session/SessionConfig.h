// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session's options with defaults, its memory, and the options needed for a
// given call.
#pragma once
#include "runtime/decode/DecodeLayout.h"
#include "runtime/session/DerivedEntries.h"
#include "runtime/session/Model.h"
#include <optional>

namespace transom {

/// A session's configuration.
struct SessionConfig : ExecutorConfig, DecodeConfig {
  /// Fills in defaults; `options` may be NULL. `Usage` for values out of range.
  static Result<SessionConfig> from(const Model &model,
                                    const transom_session_options *options);
};

/// A session's memory layout.
struct SessionLayout {
  ExecutorLayout executor;
  std::optional<DecodeLayout> decode; ///< if the model has a step
  DerivedEntryLayout derived;
  uint64_t total = 0; ///< bytes that the session maps

  /// Computes the layout; `Limit` if sizes overflow or exceed the limit.
  static Result<SessionLayout> plan(const Model &model,
                                    const SessionConfig &config);
};

/// A session's max sizes.
struct Capacity {
  int64_t maxBatch = 0, maxTokens = 0;
  int64_t maxSequences = 0, maxKvTokens = 0; ///< for a decoder
  int64_t maxSourceTokens = 0;               ///< for an encoder-decoder
};

/// Raises a capacity so that a session with it can run the entry on inputs with
/// these shapes.
Result<void> fitCapacity(const Model &model, const char *entry,
                         const transom_tensor *inputs, size_t inputCount,
                         Capacity &capacity);

/// Returns an error if the entry takes sequences and cannot run on tensors.
Result<void> checkRunnable(const Entry &entry);

} // namespace transom
