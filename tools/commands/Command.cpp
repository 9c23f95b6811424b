// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers commands, checks flag values, and prints messages.
#include "tools/commands/Command.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
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

namespace {

/// Help without each flag's variable, which the end of the help explains.
class HelpFormatter : public CLI::Formatter {
public:
  std::string make_option_opts(const CLI::Option *option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string variable =
        " (" + get_label("Env") + ":" + option->get_envname() + ")";
    if (const size_t at = text.find(variable); at != std::string::npos)
      text.erase(at, variable.size());
    return text;
  }
};

} // namespace

void tools::addEnvironmentVariables(CLI::App &command) {
  std::string without;
  for (CLI::Option *option : command.get_options()) {
    if (option->get_lnames().empty() || option == command.get_help_ptr())
      continue;
    std::string name = option->get_lnames().front();
    // Other commands use `--target` for a text. Only a flag may load code.
    if (name == "output" || name == "in" || name == "out" || name == "stages" ||
        name == "resume-from" || name == "load-pass-plugin" ||
        (name == "target" && command.get_name() != "compile" &&
         command.get_name() != "explain")) {
      without += (without.empty() ? "; not --" : ", --") + name;
      continue;
    }
    std::string variable = "TRANSOM_";
    for (char c : name)
      variable += c == '-' ? '_' : static_cast<char>(toupper(c));
    option->envname(variable);
  }
  command.formatter(std::make_shared<HelpFormatter>());
  command.footer("A variable of the environment, TRANSOM_ and the name of a "
                 "flag, sets that flag: TRANSOM_THREADS=4" +
                 without + ".");
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
    return "unknown value " + quote(given) +
           "; supported: " + joinNames(names) + suggest(given, names);
  });
  return option;
}

Result<uint64_t> tools::parseBytes(const std::string &flag,
                                   const std::string &text) {
  size_t end = 0;
  while (end < text.size() && isdigit(static_cast<unsigned char>(text[end])))
    ++end;
  const std::string unit = text.substr(end);
  const std::pair<const char *, int> units[] = {
      {"", 0}, {"K", 10}, {"M", 20}, {"G", 30}, {"T", 40}};
  if (end > 0 && end < 16)
    for (auto [name, shift] : units)
      if (unit == name)
        return static_cast<uint64_t>(std::stoull(text.substr(0, end))) << shift;
  return usageError("invalid size " + quote(text) + " for '" + flag +
                    "': expected bytes, optionally with suffix K, M, G or T");
}

/// Returns true if the string is a decimal number in [low, high].
static bool isWhole(const std::string &text, int64_t low, uint64_t high) {
  const char *begin = text.data(), *end = begin + text.size();
  int64_t negative = 0;
  uint64_t number = 0;
  if (begin != end && *begin == '-') {
    auto [next, error] = std::from_chars(begin, end, negative);
    return error == std::errc() && next == end && negative >= low;
  }
  auto [next, error] = std::from_chars(begin, end, number);
  return error == std::errc() && next == end && number <= high &&
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
               ", got " + quote(text);
      },
      range);
}

std::string tools::quote(const std::string &name) {
  return "'" + utf8::printable(name, 80) + "'";
}

std::string tools::formatBytes(uint64_t bytes) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit)
    value /= 1024;
  char text[64];
  snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

std::string tools::escapeLines(const std::string &text) {
  std::string escaped;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    escaped += utf8::printable(
        std::string_view(text).substr(begin, end - begin), text.max_size());
    escaped += end < text.size() ? "\n" : "";
    begin = end + 1;
  }
  return escaped;
}

void tools::say(const std::string &text) {
  // Print long messages completely; callers shorten quoted names.
  fprintf(stderr, "transom: %s\n",
          utf8::printable(text, text.max_size()).c_str());
}

void tools::note(const CommonFlags &common, const std::string &text) {
  if (!common.quiet)
    say("note: " + text);
}
