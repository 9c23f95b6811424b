// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The flags that decide what a compile makes of a model: flags of `compile` and
// `explain`, and some of `inspect`.
#pragma once
#include "compiler/driver/Compile.h"
#include "tools/commands/Command.h"
#include <optional>

namespace transom::tools {

/// The values of the flags.
struct CompileFlags {
  CompileOptions options;
  // Texts that finishOptions() checks or parses.
  std::string weights = "embed", attentionLayers, attentionHeads, layers;
  std::optional<int64_t> shortlistFirst, shortlistBest;
};

/// Adds a flag that may be repeated, with a value or several with commas each.
void addList(CLI::App &app, const std::string &flag,
             std::vector<std::string> &values, const std::string &help);

/// Adds the flags that decide which types weights, activations and caches have,
/// also of `inspect`.
void addTypeFlags(CLI::App &app, CompileOptions &options);

/// Adds the flags to a command. `flags` must outlive it.
void addCompileFlags(CLI::App &command, CompileFlags &flags);

/// Completes `flags.options` from the flags that are text.
Result<void> finishOptions(CompileFlags &flags);

} // namespace transom::tools
