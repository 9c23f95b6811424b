// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix for `verify --bits`: runs a compiled model under all conditions
// that must not affect its results.
#pragma once
#include "tools/commands/verify/BitsEntry.h"

namespace transom::tools {

/// The subject and its comparisons.
struct BitsMatrixOptions {
  std::string artifact;
  /// The model, to recompile it, and another artifact of the same model; empty:
  /// none.
  std::string model, compare;
  BitsOptions runs;
};

/// Fills the matrix for an artifact.
Result<BitsReport> runBitsMatrix(const BitsMatrixOptions &options);

} // namespace transom::tools
