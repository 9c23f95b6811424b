// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses with CLI11 and converts its errors to the tool's format.
#include "tools/commands/Arguments.h"
#include "runtime/base/Suggest.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace transom;
using namespace transom::tools;

int tools::reportError(const Error &error, bool verbose) {
  say("error: " + error.message);
  for (const std::string &note : error.notes)
    if (verbose)
      say("note: " + note);
  return static_cast<int>(error.status);
}

//===----------------------------------------------------------------------===//
// Values from the environment
//===----------------------------------------------------------------------===//

/// Returns true if one of the arguments sets the option.
static bool isGiven(const CLI::Option &option,
                    const std::vector<std::string> &arguments) {
  auto gives = [&](const std::string &argument) {
    for (const std::string &name : option.get_lnames())
      if (argument == "--" + name ||
          argument.compare(0, name.size() + 3, "--" + name + "=") == 0)
        return true;
    for (const std::string &name : option.get_snames())
      if (argument.compare(0, name.size() + 1, "-" + name) == 0)
        return true;
    return false;
  };
  return std::any_of(arguments.begin(), arguments.end(), gives);
}

Error tools::nameEnvironment(const CLI::App &command,
                             const std::vector<std::string> &arguments,
                             Error error) {
  for (const CLI::Option *option : command.get_options()) {
    const std::string &variable = option->get_envname();
    const char *value = variable.empty() ? nullptr : getenv(variable.c_str());
    if (!value || isGiven(*option, arguments))
      continue;
    const std::string flag = "'--" + option->get_lnames().front();
    const size_t at = error.message.find(flag);
    const bool named =
        at != std::string::npos &&
        std::string_view("' ").find(error.message[at + flag.size()]) !=
            std::string_view::npos;
    if (named || (strlen(value) > 1 &&
                  error.message.find("'" + std::string(value) + "'") !=
                      std::string::npos)) {
      error.message += " (from " + variable + " in the environment)";
      return error;
    }
  }
  return error;
}

std::vector<std::string> tools::splitEmptyValues(int argc, char **argv) {
  std::vector<std::string> arguments;
  bool flags = true; // until `--`
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    flags &= argument != "--";
    if (flags && argument.size() > 3 && argument.compare(0, 2, "--") == 0 &&
        argument.find('=') == argument.size() - 1) {
      argument.pop_back();
      arguments.push_back(argument);
      argument.clear();
    }
    arguments.push_back(argument);
  }
  return arguments;
}

//===----------------------------------------------------------------------===//
// Errors of the command line
//===----------------------------------------------------------------------===//

/// Returns the names of a command's flags that the help shows.
static std::vector<std::string> getFlagNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options()) {
    if (option->get_group().empty())
      continue;
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

/// Returns an error for the first word that the command does not know.
static Error unknownWord(const CLI::App &command, const std::string &word) {
  const std::string name = word.substr(0, word.find('='));
  if (name.size() > 1 && name[0] == '-')
    return usageError("unknown flag " + quote(name) + " of '" +
                      command.get_name() + "'" +
                      suggest(name, getFlagNames(command)));
  return usageError("unexpected argument " + quote(word) + " of '" +
                    command.get_name() + "'");
}

static Error unknownCommand(const CommandList &commands,
                            const std::string &word) {
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.app->get_name());
  if (!word.empty() && word[0] == '-')
    return usageError("unknown flag " + quote(word) +
                      suggest(word, {"--help", "--version"}));
  return usageError("unknown command " + quote(word) +
                    "; supported: " + joinNames(names) + suggest(word, names));
}

/// Converts a CLI11 error: names in quotes, lower case, no final period.
static Error parseError(const CLI::ParseError &error) {
  std::string text = error.what(), name;
  text = text.substr(0, text.find('\n'));
  const std::string excludes = " excludes ";
  if (size_t at = text.find(excludes);
      error.get_name() == "ExcludesError" && at != std::string::npos)
    return usageError("'" + text.substr(0, at) + "' and '" +
                      text.substr(at + excludes.size()) +
                      "' exclude each other");
  const bool required = error.get_name() == "RequiredError";
  const size_t end = required ? text.find(' ') : text.find(": ");
  if (end != std::string::npos && text.find(' ') >= end) {
    name = "'" + text.substr(0, end) + "'";
    text = text.substr(end + (required ? 1 : 2));
  }
  if (error.get_name() == "ArgumentMismatch")
    return usageError(name + " needs a value");
  if (text.size() > 1 && isupper(text[0]) && !isupper(text[1]))
    text[0] = static_cast<char>(tolower(text[0]));
  while (!text.empty() && (text.back() == '.' || text.back() == ' '))
    text.pop_back();
  return usageError(name + (name.empty() ? "" : required ? " " : ": ") + text);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

const Command *tools::parseArguments(CLI::App &app, const CommandList &commands,
                                     const std::vector<std::string> &arguments,
                                     int &code) {
  auto chosen = [&]() -> const Command * {
    for (const Command &command : commands)
      if (command.app->parsed())
        return &command;
    return nullptr;
  };
  auto unknown = [&](const Command *command) -> bool {
    std::vector<std::string> extras =
        command ? command->app->remaining() : app.remaining();
    if (extras.empty())
      return false;
    code = reportError(command ? unknownWord(*command->app, extras.front())
                               : unknownCommand(commands, extras.front()),
                       false);
    return true;
  };
  try {
    // CLI11 expects the arguments in reverse order.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success &success) { // help or version
    std::ostringstream text;
    code = app.exit(success, text, text);
    Result<void> written = writeOut(text.str());
    if (written)
      written = finishOut();
    if (!written)
      code = reportError(written.error(), false);
    return nullptr;
  } catch (const CLI::ParseError &error) {
    const Command *command = chosen();
    if (!unknown(command))
      code = reportError(
          command ? nameEnvironment(*command->app, arguments, parseError(error))
                  : parseError(error),
          false);
    return nullptr;
  }
  const Command *command = chosen();
  if (unknown(command))
    return nullptr;
  if (!command)
    code = reportError(usageError("no command given; see 'transom --help'"),
                       false);
  return command;
}
