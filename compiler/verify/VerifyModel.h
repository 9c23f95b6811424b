// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks all passes of a compile, one by one, for `transom verify MODEL` and
// `transom compile --certify`.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "compiler/verify/Certificate.h"

namespace transom {

/// How far a check is.
struct VerifyProgress {
  std::string pass; ///< after which the model was evaluated last
  /// Evaluations of the model, or of its calls.
  uint64_t done = 0, total = 0;
  double seconds = 0;     ///< so far
  double secondsLeft = 0; ///< an estimate
  uint64_t bytes = 0;     ///< of memory, an estimate
};

/// What to check and how.
struct VerifyOptions {
  /// A model, and the options of the compile whose passes are checked.
  CompileOptions compile;
  /// Independent evaluations, 1 or 2: with more, a miss is less likely.
  unsigned lanes = 1;
  /// Run the model as it is: all layers, and all of each width. Else of equal
  /// layers the first, the second and the last run, and a large model runs with
  /// smaller widths.
  bool full = false;
  /// The largest estimated memory in bytes; 0: the memory of this machine.
  uint64_t memLimit = 0;
  /// Called before the first evaluation and after each; false stops the check.
  std::function<bool(const VerifyProgress &)> progress;
  /// Gets the module of each stage and the certificate, for `transom-check`;
  /// empty: nothing is written.
  std::string stagesFolder;
};

/// Compiles a model up to the stage `kern` and compares it with itself before
/// and after each pass. A difference is part of the certificate. An error where
/// the model does not compile, has an operation that cannot be evaluated, or
/// takes more memory than the limit.
Result<Certificate> verifyModel(const VerifyOptions &options);

} // namespace transom
