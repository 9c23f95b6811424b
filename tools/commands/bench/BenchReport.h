// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bench prints: its table, and the profile by operation of the model.
#pragma once
#include "tools/commands/bench/BenchMeasure.h"

namespace transom::tools {

/// A line of the profile: all dispatches of one phase.
struct ProfileLine {
  std::string location, phase;
  int64_t dispatches = 0; ///< in one call
  double ms = 0;          ///< in all calls
  double share = 0;       ///< of the time of the row
  double gflops = 0;      ///< a second
  double gbps = 0;        ///< weights and activations
  double peak = 0;        ///< share of the peak of multiply-adds
};

/// The lines of a row's profile, the heaviest first; the last is the time
/// outside of dispatches.
std::vector<ProfileLine> getProfile(const BenchRow &row,
                                    const BenchModel &bench,
                                    const std::vector<BenchRun> &runs,
                                    const MachineLimits &limits);

/// Rows with their profiles, which are empty without `--profile`.
struct BenchTable {
  std::vector<BenchRow> rows;
  std::vector<std::vector<ProfileLine>> profiles;

  std::string json() const;
  /// In texts for a terminal, control characters of names are escaped.
  std::string markdown() const;
  std::string csv() const;
};

} // namespace transom::tools
