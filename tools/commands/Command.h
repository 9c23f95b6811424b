// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Common command infrastructure: registration, flags that every command has,
// and output. Data goes to stdout, messages go to stderr.
#pragma once
#include "runtime/base/Error.h"
#include "tools/commands/StandardStreams.h"
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
  bool json = false; ///< print data as JSON
};

/// A command: its flags and the function that runs it.
struct Command {
  CLI::App *app = nullptr;
  std::shared_ptr<CommonFlags> common;
  std::function<Result<void>(const CommonFlags &)> run;
};

/// The tool's commands in `--help` order.
using CommandList = std::vector<Command>;

/// Adds a command with the common flags; the caller adds further flags and sets
/// `run`.
Command &addCommand(CLI::App &app, CommandList &commands,
                    const std::string &name, const std::string &summary);

/// Lets an environment variable `TRANSOM_...` set each flag of a command,
/// except `-o`, `--in`, `--out`, `--stages`, `--resume-from` and
/// `--load-pass-plugin`. `--target` has a variable only in `compile` and
/// `explain`.
void addEnvironmentVariables(CLI::App &command);

// Each adds one command.
void addCompile(CLI::App &app, CommandList &commands);
void addRun(CLI::App &app, CommandList &commands);
void addEmbed(CLI::App &app, CommandList &commands);
void addClassify(CLI::App &app, CommandList &commands);
void addAnswer(CLI::App &app, CommandList &commands);
void addTag(CLI::App &app, CommandList &commands);
void addFillMask(CLI::App &app, CommandList &commands);
void addSimilarity(CLI::App &app, CommandList &commands);
void addRerank(CLI::App &app, CommandList &commands);
void addGenerate(CLI::App &app, CommandList &commands);
void addScore(CLI::App &app, CommandList &commands);
void addTranslate(CLI::App &app, CommandList &commands);
void addSummarize(CLI::App &app, CommandList &commands);
void addTokenize(CLI::App &app, CommandList &commands);
void addAttention(CLI::App &app, CommandList &commands);
void addExplain(CLI::App &app, CommandList &commands);
void addInspect(CLI::App &app, CommandList &commands);
void addVerify(CLI::App &app, CommandList &commands);
void addBench(CLI::App &app, CommandList &commands);

/// Adds a flag that takes one of `names`; other values are usage errors with a
/// suggestion.
CLI::Option *addChoice(CLI::App &command, const std::string &flag,
                       std::string &value, std::vector<std::string> names,
                       const std::string &help);

/// Checks that a flag's value is a decimal integer in [low, high].
CLI::Validator wholeNumber(int64_t low, uint64_t high = INT64_MAX);

/// Parses a size such as `512M`, the value of `flag`.
Result<uint64_t> parseBytes(const std::string &flag, const std::string &text);

/// Formats a user-provided name or value for a message: quoted, shortened, with
/// control characters escaped.
std::string quote(const std::string &name);
/// Formats a byte count: `1.5 MiB`.
std::string formatBytes(uint64_t bytes);
/// Escapes control characters in each line of a string.
std::string escapeLines(const std::string &text);
/// Prints one line `transom: TEXT` to stderr. All messages use this function:
/// control characters in names and inputs are escaped.
void say(const std::string &text);
/// Prints one line `transom: note: TEXT` to stderr unless `-q` was given.
void note(const CommonFlags &common, const std::string &text);

} // namespace transom::tools
