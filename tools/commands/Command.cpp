// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared parts of commands.
#include "tools/commands/Command.h"
#include "runtime/base/Suggest.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
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
      ->check(wholeNumber(1, 1024));
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

/// True for digits, perhaps behind a minus, of a number in [low, high].
static bool isWhole(const std::string &text, int64_t low, uint64_t high) {
  const char *begin = text.data(), *end = begin + text.size();
  int64_t negative = 0;
  uint64_t number = 0;
  if (begin != end && *begin == '-') {
    auto [behind, error] = std::from_chars(begin, end, negative);
    return error == std::errc() && behind == end && negative >= low;
  }
  auto [behind, error] = std::from_chars(begin, end, number);
  return error == std::errc() && behind == end && number <= high &&
         (low < 0 || number >= uint64_t(low));
}

CLI::Validator tools::wholeNumber(int64_t low, uint64_t high) {
  const std::string range =
      high == uint64_t(INT64_MAX)
          ? std::to_string(low) + " or more"
          : std::to_string(low) + " to " + std::to_string(high);
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        if (isWhole(text, low, high))
          return {};
        const std::string most = std::to_string(high);
        return "expected a whole number, " +
               (text.size() < most.size()
                    ? range
                    : std::to_string(low) + " to " + most) +
               ", got '" + text + "'";
      },
      range);
}

void tools::note(const CommonFlags &common, const std::string &text) {
  if (!common.quiet)
    fprintf(stderr, "transom: note: %s\n", text.c_str());
}

static Error cannotWrite() {
  std::string reason = strerror(errno);
  if (!reason.empty())
    reason[0] = static_cast<char>(tolower(reason[0]));
  return unavailable("cannot write to stdout: " + reason);
}

Result<void> tools::writeOut(const std::string &data) {
  if (fwrite(data.data(), 1, data.size(), stdout) != data.size())
    return cannotWrite();
  return {};
}

Result<void> tools::flushOut() {
  return fflush(stdout) == 0 ? Result<void>() : cannotWrite();
}
