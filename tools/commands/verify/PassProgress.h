// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Progress of a pass check, on stderr.
#pragma once
#include "compiler/verify/VerifyModel.h"
#include <CLI/App.hpp>
#include <string>

namespace transom::tools {

/// Flags for a pass check that `verify` and `explain --verify` share.
struct PassCheckFlags {
  bool full = false;
  std::string memLimit, progress = "auto";

  /// Sets the options from the flags; `quiet` hides progress on a terminal.
  Result<void> apply(VerifyOptions &options, bool quiet) const;
};

/// Adds `--full`, `--mem-limit` and `--progress`. They require the option
/// `needed`, if any.
void addPassCheckFlags(CLI::App &app, PassCheckFlags &flags,
                       CLI::Option *needed = nullptr);

/// Returns a function that reports progress in `mode`. `json` prints JSON
/// lines. `auto` updates a line on a terminal, and otherwise prints lines if
/// the check takes more than 5 s. Returns null for `none`.
std::function<bool(const VerifyProgress &)>
createPassProgress(const std::string &mode, bool quiet);

} // namespace transom::tools
