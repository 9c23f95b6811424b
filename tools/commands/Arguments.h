// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Command-line arguments: selects the command, and reports errors as one line.
#pragma once
#include "tools/commands/Command.h"

namespace transom::tools {

/// Prints an error as one line, and its notes if `verbose`. Returns the exit
/// code.
int reportError(const Error &error, bool verbose);

/// Returns the arguments of main() without the program. Splits `--text=` in
/// two, since CLI11 would take the next argument as its value.
std::vector<std::string> splitEmptyValues(int argc, char **argv);

/// Extends an error about a flag's value if the environment set the value.
Error nameEnvironment(const CLI::App &command,
                      const std::vector<std::string> &arguments, Error error);

/// Parses the arguments. Returns the selected command, or null and the exit
/// code for help, version and usage errors.
const Command *parseArguments(CLI::App &app, const CommandList &commands,
                              const std::vector<std::string> &arguments,
                              int &code);

} // namespace transom::tools
