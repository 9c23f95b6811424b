// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one phase on all instruction sets that this CPU supports.
#pragma once
#include "test/support/KernelHarness.h"
#include <gtest/gtest.h>

namespace transom::test {

inline std::string str(int64_t value) { return std::to_string(value); }

/// Runs a phase on each instruction set with several worker counts; `check` is
/// called after each run.
inline void runAll(KernelHarness &harness, const std::string &phase,
                   PhaseCall call, const std::function<void()> &check) {
  for (const std::string &isa : harness.isas())
    for (int64_t numWorkers : {1, 2, 3, 5}) {
      SCOPED_TRACE(isa + " " + phase + " workers " + str(numWorkers));
      call.numWorkers = numWorkers;
      harness.run(isa, phase, call, numWorkers % 2 == 0);
      check();
    }
}

} // namespace transom::test
