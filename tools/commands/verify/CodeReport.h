// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The report for `verify MODEL.so`: compares machine code with its kern module
// bit by bit, and each phase with float64.
#pragma once
#include "compiler/verify/CodeVerification.h"
#include "runtime/base/Error.h"

namespace transom::tools {

/// Describes a difference in one line.
std::string describeDifference(const CodeDifference &difference);

struct CodeReport {
  std::string path, name, dtype, backend;
  uint64_t seed = 0;
  std::vector<int64_t> lengths;
  std::vector<std::string> lacking; ///< instruction sets that do not run here
  std::vector<std::string> notes;
  CodeVerification verification;

  /// Max phases in the text.
  static constexpr size_t maxPhases = 10;

  /// Returns an error for a difference.
  Result<void> check() const;
  std::string toText() const;
  std::string toJson() const;
};

} // namespace transom::tools
