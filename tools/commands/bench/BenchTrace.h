// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trace of bench for Chrome's viewer and Perfetto.
#pragma once
#include "tools/commands/bench/BenchMeasure.h"

namespace transom::tools {

/// Where in the model one run of a phase is.
struct RunLocation {
  std::string location;           ///< of its layer, where that is known
  std::optional<int64_t> layer{}; ///< that it computes
};

/// The location of run `run` of a phase that runs `numRuns` times in a call:
/// of `layer.{0-2,5}.output`, run 3 of 4 is `layer.5.output`. A location
/// without a range of so many numbers stays as it is.
RunLocation getRunLocation(const std::string &location, size_t run,
                           size_t numRuns);

/// The work of each worker in a row's last call as trace events, JSON text.
std::string getTrace(const BenchRow &row, const BenchModel &bench,
                     const std::vector<BenchRun> &runs);

} // namespace transom::tools
