// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function in a process of its own, since a module with a bug may ask for any
// amount of memory or time, or break the evaluator.
#pragma once
#include <functional>
#include <string>

namespace transom::testing {

struct ProcessLimits {
  int seconds = 30;     ///< of CPU time
  int mebibytes = 1024; ///< of address space beyond what there is
};

struct ProcessResult {
  /// False where a limit or a signal ended it; `text` says which.
  bool finished = false;
  std::string text;
};

/// Runs a function in a copy of this process; what it changes is lost.
ProcessResult runLimited(const std::function<std::string()> &function,
                         const ProcessLimits &limits = {});

} // namespace transom::testing
