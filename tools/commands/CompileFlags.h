// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Flags that determine how a model is compiled: for `compile` and `explain`,
// and some for `inspect`.
#pragma once
#include "compiler/options/CompileOptions.h"
#include "tools/commands/Command.h"
#include <optional>

namespace transom::tools {

/// Flag values.
struct CompileFlags {
  CompileOptions options;
  // Strings that finishOptions() checks or parses.
  std::string weights = "embed", attentionLayers, attentionHeads, layers;
  std::optional<int64_t> shortlistFirst, shortlistBest;
};

/// Adds a repeatable flag; each value may be a comma-separated list.
void addList(CLI::App &app, const std::string &flag,
             std::vector<std::string> &values, const std::string &help);

/// Adds the flags for the types of weights, activations and caches, which
/// `inspect` has, too.
void addTypeFlags(CLI::App &app, CompileOptions &options);

/// Adds all flags to a command. `flags` must outlive it.
void addCompileFlags(CLI::App &command, CompileFlags &flags);

/// Completes `flags.options` from string flags.
Result<void> finishOptions(CompileFlags &flags);

} // namespace transom::tools
