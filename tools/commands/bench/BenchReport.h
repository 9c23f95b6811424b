// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output formats of bench: its table, and the profile by model operation.
#pragma once
#include "tools/commands/bench/BenchMeasure.h"

namespace transom::tools {

/// A profile line: all dispatches of one phase.
struct ProfileLine {
  std::string location, phase;
  int64_t dispatches = 0; ///< in one call
  double ms = 0;          ///< in all calls
  double share = 0;       ///< in the row's time
  double gflops = 0;      ///< per second
  double gbps = 0;        ///< weights and activations
  double peak = 0;        ///< share of the multiply-add peak
};

/// Returns the profile for a row, most expensive phases first; the last line is
/// the time outside of dispatches.
std::vector<ProfileLine> getProfile(const BenchRow &row,
                                    const BenchModel &bench,
                                    const std::vector<BenchRun> &runs,
                                    const MachineLimits &limits);

/// Rows with their profiles, which are empty without `--profile`.
struct BenchTable {
  std::vector<BenchRow> rows;
  std::vector<std::vector<ProfileLine>> profiles;

  std::string json() const;
  /// In text formats control characters in names are escaped.
  std::string markdown() const;
  std::string csv() const;
};

} // namespace transom::tools
