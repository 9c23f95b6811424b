// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command-line tool: finds the command, and turns what went wrong into one
// line and an exit code.
#include "runtime/base/Suggest.h"
#include "tools/commands/Command.h"
#include "transom/transom.h"
#include <csignal>

using namespace transom;
using namespace transom::tools;

static int report(const Error &error, bool verbose) {
  fprintf(stderr, "transom: error: %s\n", error.message.c_str());
  for (const std::string &note : error.notes)
    if (verbose)
      fprintf(stderr, "transom: note: %s\n", note.c_str());
  return static_cast<int>(error.status);
}

/// All spellings of a command's flags.
static std::vector<std::string> flagNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options()) {
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string &name : option->get_snames())
      names.push_back("-" + name);
  }
  return names;
}

/// What is wrong with the first word that the command does not know.
static Error unknownWord(const CLI::App &command, const std::string &word) {
  const std::string name = word.substr(0, word.find('='));
  if (name.size() > 1 && name[0] == '-')
    return usageError("unknown flag '" + name + "' of '" + command.get_name() +
                      "'" + suggest(name, flagNames(command)));
  return usageError("unexpected argument '" + word + "' of '" +
                    command.get_name() + "'");
}

static Error unknownCommand(const CommandList &commands,
                            const std::string &word) {
  std::vector<std::string> names;
  for (const Command &command : commands)
    names.push_back(command.app->get_name());
  if (!word.empty() && word[0] == '-')
    return usageError("unknown flag '" + word + "'" +
                      suggest(word, {"--help", "--version"}));
  return usageError("unknown command '" + word +
                    "'; commands: " + joinNames(names) + suggest(word, names));
}

/// What CLI11 says, in our form: names in quotes, lower case, no final period.
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

/// Parses the arguments; the chosen command, or the exit code of help, version
/// and usage errors.
static const Command *parse(CLI::App &app, const CommandList &commands,
                            int argc, char **argv, int &code) {
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
    code = report(command ? unknownWord(*command->app, extras.front())
                          : unknownCommand(commands, extras.front()),
                  false);
    return true;
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &wanted) { // help or version
    code = app.exit(wanted);
    return nullptr;
  } catch (const CLI::ParseError &error) {
    if (!unknown(chosen()))
      code = report(parseError(error), false);
    return nullptr;
  }
  const Command *command = chosen();
  if (unknown(command))
    return nullptr;
  if (!command)
    code =
        report(usageError("no command was given; see 'transom --help'"), false);
  return command;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ,
         SIG_IGN); // a file over the limit is an error like a full disk
  CLI::App app("transom compiles Transformers to shared objects and runs them.",
               "transom");
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "transom " + std::string(transom_version()),
                       "print the version");
  app.allow_extras();
  CommandList commands;
  for (auto *add : {addCompile, addRun, addGenerate, addScore, addEmbed,
                    addClassify, addTokenize, addInspect, addBench})
    add(app, commands);
  for (Command &command : commands)
    addEnvironmentTwins(*command.app);

  int code = 0;
  const Command *command = parse(app, commands, argc, argv, code);
  if (!command)
    return code;
  Result<void> done = command->run(*command->common);
  if (done)
    done = flushOut();
  return done ? 0 : report(done.error(), command->common->verbose);
}
