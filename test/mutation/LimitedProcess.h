// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a function in a separate process, since a module with a bug may use any
// amount of memory or time, or crash the evaluator.
#pragma once
#include <functional>
#include <string>

namespace transom::testing {

struct ProcessLimits {
  int seconds = 30;     ///< CPU time
  int mebibytes = 1024; ///< address space beyond the present use
};

struct ProcessResult {
  /// False if a limit or a signal ended it; `text` names which.
  bool finished = false;
  std::string text;
};

/// Runs a function in a copy of this process; its changes are lost.
ProcessResult runLimited(const std::function<std::string()> &function,
                         const ProcessLimits &limits = {});

} // namespace transom::testing
