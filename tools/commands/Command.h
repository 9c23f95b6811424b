// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all commands of the tool share: how one is registered, what flags all
// have, and how words reach stderr and data stdout.
#pragma once
#include "runtime/base/Error.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace transom::tools {

/// Flags that every command has.
struct CommonFlags {
  unsigned threads = 0; ///< 0: the default
  bool verbose = false;
  bool quiet = false;
  bool json = false; ///< data as JSON, where it is not anyway
};

/// A command: its flags, and what runs when it was chosen.
struct Command {
  CLI::App *app = nullptr;
  std::shared_ptr<CommonFlags> common;
  std::function<Result<void>(const CommonFlags &)> run;
};

/// The commands of the tool in the order of the help.
using CommandList = std::vector<Command>;

/// Adds a command with the common flags; the caller adds its own and sets
/// `run`.
Command &addCommand(CLI::App &app, CommandList &commands,
                    const std::string &name, const std::string &summary);

/// Gives each flag its `TRANSOM_...` twin in the environment, but for `-o`,
/// `--in` and `--out`.
void addEnvironmentTwins(CLI::App &command);

/// One function a command.
void addCompile(CLI::App &app, CommandList &commands);
void addRun(CLI::App &app, CommandList &commands);
void addEmbed(CLI::App &app, CommandList &commands);
void addClassify(CLI::App &app, CommandList &commands);
void addGenerate(CLI::App &app, CommandList &commands);
void addScore(CLI::App &app, CommandList &commands);
void addTokenize(CLI::App &app, CommandList &commands);
void addInspect(CLI::App &app, CommandList &commands);
void addBench(CLI::App &app, CommandList &commands);

/// Adds a flag that takes one of `names`; another is a usage error with a
/// suggestion.
CLI::Option *addChoice(CLI::App &command, const std::string &flag,
                       std::string &value, std::vector<std::string> names,
                       const std::string &help);

/// Checks that a flag's value is a whole decimal number in [low, high].
CLI::Validator wholeNumber(int64_t low, uint64_t high = INT64_MAX);

/// One line `transom: note: ...` on stderr unless `-q`.
void note(const CommonFlags &common, const std::string &text);

/// Writes data to stdout; an error when it cannot take it.
Result<void> writeOut(const std::string &data);
/// Flushes stdout.
Result<void> flushOut();

} // namespace transom::tools
