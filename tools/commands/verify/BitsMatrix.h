// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The matrix of `verify --bits`: runs a compiled model in all ways that may not
// show in its results.
#pragma once
#include "tools/commands/verify/BitsEntry.h"

namespace transom::tools {

/// What is run and compared.
struct BitsMatrixOptions {
  std::string artifact;
  /// Its model, to compile it again, and another artifact of the same model;
  /// empty: none.
  std::string model, compare;
  BitsOptions runs;
};

/// Fills the matrix of an artifact.
Result<BitsReport> runBitsMatrix(const BitsMatrixOptions &options);

} // namespace transom::tools
