// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Between the compiler, which says what a phase computes, and a program that
// runs machine code: the program shows the memory of each call before and after
// each dispatch. No header of LLVM or MLIR comes along, and none of the
// runtime's loader.
#pragma once
#include "runtime/abi/Abi.h"
#include "runtime/base/Error.h"
#include "runtime/manifest/Manifest.h"
#include <string>

namespace transom {

/// A dispatch of a call, between its neighbours.
struct SteppedDispatch {
  std::string isa;   ///< the instruction set whose code runs
  std::string entry; ///< of the manifest
  std::string call;  ///< what is called, in words
  int64_t dispatch = 0;
  const transom_frame *frame = nullptr;
  int64_t arenaBytes = 0; ///< of this call
  /// The memory of all KV blocks; null without a cache.
  const char *blocks = nullptr;
  int64_t blockBytes = 0;
};

/// Looks at memory. Called on one thread, for the dispatches of a call in their
/// order.
class DispatchChecker {
public:
  virtual ~DispatchChecker() = default;
  virtual void willRun(const SteppedDispatch &dispatch) = 0;
  virtual void didRun(const SteppedDispatch &dispatch) = 0;
  /// Whether an error has ended the check, so that more calls are of no use.
  virtual bool hasFailed() const = 0;
};

/// Runs the code of an artifact.
class ArtifactStepper {
public:
  virtual ~ArtifactStepper() = default;
  virtual const Manifest &getManifest() const = 0;
  /// Calls all entries with code, for each instruction set, and shows each
  /// dispatch.
  virtual Result<void> run(DispatchChecker &checker) = 0;
};

} // namespace transom
