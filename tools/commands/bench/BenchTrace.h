// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bench trace for Chrome's viewer and Perfetto.
#pragma once
#include "tools/commands/bench/BenchMeasure.h"

namespace transom::tools {

/// Model location for one phase run.
struct RunLocation {
  std::string location;           ///< with its layer, if known
  std::optional<int64_t> layer{}; ///< computed layer
};

/// Returns the location for run `run` of a phase that runs `numRuns` times in a
/// call: for `layer.{0-2,5}.output`, run 3 of 4 is `layer.5.output`. A location
/// without a range of `numRuns` numbers is returned unchanged.
RunLocation getRunLocation(const std::string &location, size_t run,
                           size_t numRuns);

/// Returns each worker's events in a row's last call as JSON.
std::string getTrace(const BenchRow &row, const BenchModel &bench,
                     const std::vector<BenchRun> &runs);

} // namespace transom::tools
