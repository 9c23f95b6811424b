// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arguments of the command line: the chosen command, and errors as one
// line.
#pragma once
#include "tools/commands/Command.h"

namespace transom::tools {

/// Prints an error as one line, its notes if `verbose`. Returns the exit code.
int reportError(const Error &error, bool verbose);

/// The arguments of main() without the program. Splits `--text=` in two, since
/// CLI11 would take the next argument as its value.
std::vector<std::string> splitEmptyValues(int argc, char **argv);

/// Adds to an error about a flag's value that it came from the environment.
Error nameEnvironment(const CLI::App &command,
                      const std::vector<std::string> &arguments, Error error);

/// Parses the arguments. Returns the chosen command, or null and the exit code
/// of help, version and usage errors.
const Command *parseArguments(CLI::App &app, const CommandList &commands,
                              const std::vector<std::string> &arguments,
                              int &code);

} // namespace transom::tools
