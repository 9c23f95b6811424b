// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Connects the compiler, which evaluates phases, with a program that runs
// machine code: the program presents its memory before and after each dispatch.
// Includes no headers from LLVM, MLIR or the runtime loader.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/manifest/Manifest.h"
#include <string>

namespace transom {

/// A dispatch in a call.
struct SteppedDispatch {
  std::string isa;   ///< instruction set
  std::string entry; ///< in the manifest
  std::string call;  ///< description
  int64_t dispatch = 0;
  const transom_frame *frame = nullptr;
  int64_t arenaBytes = 0; ///< for this call
  /// Memory for all KV blocks; null without a cache.
  const char *blocks = nullptr;
  int64_t blockBytes = 0;
};

/// Inspects memory. Called on one thread, for the dispatches in call order.
class DispatchChecker {
public:
  virtual ~DispatchChecker() = default;
  virtual void willRun(const SteppedDispatch &dispatch) = 0;
  virtual void didRun(const SteppedDispatch &dispatch) = 0;
  /// True if an error has ended the check, so further calls are useless.
  virtual bool hasFailed() const = 0;
};

/// Runs the code in an artifact.
class ArtifactStepper {
public:
  virtual ~ArtifactStepper() = default;
  virtual const Manifest &getManifest() const = 0;
  /// Calls all entries with code, for each instruction set, and presents each
  /// dispatch to `checker`.
  virtual Result<void> run(DispatchChecker &checker) = 0;
};

} // namespace transom
