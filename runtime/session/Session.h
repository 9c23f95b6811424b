// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session: the state that one caller needs to run a model. It owns the
// executor, and for a decoder the decode engine, and runs each entry by its
// kind.
#pragma once
#include "runtime/decode/DecodeEngine.h"
#include "runtime/execute/Executor.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/session/SessionConfig.h"
#include <memory>

namespace transom {

class Session {
public:
  /// Maps the memory and starts the threads. `model` must outlive the session.
  static Result<std::unique_ptr<Session>> create(const Model &model,
                                                 const SessionConfig &config);

  /// Runs an entry, as transom_session_run().
  Result<void> run(const char *entry, const transom_tensor *inputs,
                   size_t inputCount, transom_tensor *outputs,
                   size_t outputCount);
  /// Implements transom_session_shape().
  Result<void> shape(const char *entry, const transom_tensor *inputs,
                     size_t inputCount, const char *name,
                     transom_tensor &result) const;

  Executor &executor() const { return *executorPart; }
  /// Sequences and steps; NULL if the model has no step.
  DecodeEngine *decoder() const { return enginePart.get(); }
  void cancel() { executorPart->cancel(); }
  /// Returns an error if the call was cancelled before it began; clears the
  /// request.
  Result<void> takeCancel() { return executorPart->takeCancel(); }

  const Model &model() const { return source; }
  const SessionConfig &config() const { return settings; }
  /// Mapped bytes.
  uint64_t memory() const { return executorPart->memory(); }
  /// For an encoder-decoder: the settings in its files, which specify the start
  /// token and the end tokens.
  const GenerationConfig &generation() const { return settingsOfFiles; }
  /// Storage for derived entries; only for a session with a decoder.
  DerivedEntryStorage derivedEntryStorage() const {
    return layout.derived.getStorage(*executorPart);
  }

private:
  Session(const Model &model, const SessionConfig &config)
      : source(model), settings(config) {}

  const Model &source;
  SessionConfig settings;
  SessionLayout layout;
  std::unique_ptr<Executor> executorPart;
  std::unique_ptr<DecodeEngine> enginePart; // NULL: no decoder
  GenerationConfig settingsOfFiles;         // for an encoder-decoder
};

} // namespace transom
