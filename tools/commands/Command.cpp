// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared parts of commands.
#include "tools/commands/Command.h"
#include "runtime/support/Suggest.h"
#include <CLI/Validators.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>

using namespace transom;
using namespace transom::tools;

Command &tools::addCommand(CLI::App &app, CommandList &commands,
                           const std::string &name,
                           const std::string &summary) {
  Command command;
  command.app = app.add_subcommand(name, summary);
  command.app->allow_extras();
  command.common = std::make_shared<CommonFlags>();
  command.app->set_help_flag("-h,--help", "print this help");
  command.app
      ->add_option("-t,--threads", command.common->threads,
                   "threads (default: the physical cores this process may use)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u));
  command.app->add_flag("--json", command.common->json, "print data as JSON");
  command.app->add_flag("-v,--verbose", command.common->verbose,
                        "say more, also the notes of errors");
  command.app->add_flag("-q,--quiet", command.common->quiet,
                        "say nothing but errors");
  commands.push_back(std::move(command));
  return commands.back();
}

void tools::addEnvironmentTwins(CLI::App &command) {
  for (CLI::Option *option : command.get_options()) {
    if (option->get_lnames().empty() || option == command.get_help_ptr())
      continue;
    std::string name = option->get_lnames().front();
    if (name == "output" || name == "in" || name == "out")
      continue;
    std::string variable = "TRANSOM_";
    for (char c : name)
      variable += c == '-' ? '_' : static_cast<char>(toupper(c));
    option->envname(variable);
  }
}

CLI::Option *tools::addChoice(CLI::App &command, const std::string &flag,
                              std::string &value,
                              std::vector<std::string> names,
                              const std::string &help) {
  CLI::Option *option = command.add_option(flag, value, help);
  std::string shape;
  for (const std::string &name : names)
    shape += (shape.empty() ? "" : "|") + name;
  option->type_name(shape);
  option->check([names](const std::string &given) -> std::string {
    if (std::find(names.begin(), names.end(), given) != names.end())
      return {};
    return "unknown value '" + given + "'; supported: " + joinNames(names) +
           suggest(given, names);
  });
  return option;
}

void tools::note(const CommonFlags &common, const std::string &text) {
  if (!common.quiet)
    fprintf(stderr, "transom: note: %s\n", text.c_str());
}

static Error cannotWrite() {
  return unavailable("cannot write to stdout: " + std::string(strerror(errno)));
}

Result<void> tools::writeOut(const std::string &data) {
  if (fwrite(data.data(), 1, data.size(), stdout) != data.size())
    return cannotWrite();
  return {};
}

Result<void> tools::flushOut() {
  return fflush(stdout) == 0 ? Result<void>() : cannotWrite();
}
