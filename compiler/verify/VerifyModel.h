// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks all passes in a compilation, one by one, for `transom verify MODEL`
// and `transom compile --certify`.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "compiler/verify/Certificate.h"

namespace transom {

/// Progress in a check.
struct VerifyProgress {
  std::string pass; ///< last pass after which the model was evaluated
  /// Evaluations (whole model or calls).
  uint64_t done = 0, total = 0;
  double seconds = 0;     ///< so far
  double secondsLeft = 0; ///< estimated
  uint64_t bytes = 0;     ///< estimated memory
};

/// Model, compile options and limits for a check.
struct VerifyOptions {
  /// A model, and compile options; the passes in this compilation are checked.
  CompileOptions compile;
  /// Independent evaluations, 1 or 2: more make a miss less likely.
  unsigned lanes = 1;
  /// Runs all layers at their original widths. Otherwise, among equal layers
  /// only the first, the second and the last run, and a large model runs with
  /// smaller widths.
  bool full = false;
  /// Max estimated memory in bytes; 0: this machine's memory.
  uint64_t memLimit = 0;
  /// Called before the first evaluation and after each; false stops the check.
  std::function<bool(const VerifyProgress &)> progress;
  /// Folder for the stage modules and the certificate, for `transom-check`;
  /// empty: nothing is written.
  std::string stagesFolder;
};

/// Compiles a model up to the stage `kern` and compares it with itself before
/// and after each pass. A difference is part of the certificate. An error if
/// the model does not compile, contains an operation without an evaluator, or
/// exceeds the memory limit.
Result<Certificate> verifyModel(const VerifyOptions &options);

} // namespace transom
