// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks all passes of a compile, one by one, for `transom verify MODEL` and
// `transom compile --certify`.
#pragma once
#include "compiler/driver/Compile.h"
#include "compiler/verify/Certificate.h"

namespace transom {

/// What to check and how.
struct VerifyOptions {
  /// A model, and the options of the compile whose passes are checked.
  CompileOptions compile;
  /// Independent evaluations, 1 or 2: with more, a miss is less likely.
  unsigned lanes = 1;
  /// Run all layers; else of equal ones the first, the second and the last.
  bool allLayers = false;
  /// Gets the module of each stage and the certificate, for `transom-check`;
  /// empty: nothing is written.
  std::string stagesFolder;
};

/// Compiles a model up to the stage `kern` and compares it with itself before
/// and after each pass. A difference is part of the certificate. An error where
/// the model does not compile, or has an operation that cannot be evaluated.
Result<Certificate> verifyModel(const VerifyOptions &options);

/// Compiles a model, after a check with `options.certify`.
Result<CompileReport> compileCertified(const CompileOptions &options);

} // namespace transom
