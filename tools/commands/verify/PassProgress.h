// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The progress of a check of passes, on stderr.
#pragma once
#include "compiler/verify/VerifyModel.h"
#include <CLI/App.hpp>
#include <string>

namespace transom::tools {

/// The flags of a check of passes that `verify` and `explain --verify` share.
struct PassCheckFlags {
  bool full = false;
  std::string memLimit, progress = "auto";

  /// Sets the options from the flags; `quiet` shows no progress on a terminal.
  Result<void> apply(VerifyOptions &options, bool quiet) const;
};

/// Adds `--full`, `--mem-limit` and `--progress`, which `needed`, if any, goes
/// with.
void addPassCheckFlags(CLI::App &app, PassCheckFlags &flags,
                       CLI::Option *needed = nullptr);

/// Returns a function that shows progress in `mode`: `json` as lines of JSON,
/// `auto` as a line that changes on a terminal, else as lines where the check
/// takes more than 5 s. Null for `none`.
std::function<bool(const VerifyProgress &)>
createPassProgress(const std::string &mode, bool quiet);

} // namespace transom::tools
