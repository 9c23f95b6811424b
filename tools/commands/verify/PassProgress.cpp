// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reports progress after each evaluation of the model.
#include "tools/commands/verify/PassProgress.h"
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include <cinttypes>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

/// Seconds from which a check prints lines even without a terminal.
static constexpr double longCheck = 5;

static void printJson(const VerifyProgress &progress) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("stage", "verify");
  json.member("pass", progress.pass);
  json.member("done", progress.done);
  json.member("total", progress.total);
  json.member("seconds", progress.seconds);
  json.member("seconds_left", progress.secondsLeft);
  json.member("bytes", progress.bytes);
  json.endObject();
  fprintf(stderr, "%s\n", line.c_str());
}

/// Returns `17 evaluations, about 20 s and 1.2 GiB`, then `12 of 17
/// evaluations, after 'kern-fuse-norm', about 8 s left`.
static std::string describe(const VerifyProgress &progress) {
  char line[200];
  if (progress.done == 0) {
    snprintf(line, sizeof line, "%" PRIu64 " evaluations, about %.0f s and %s",
             progress.total, progress.secondsLeft,
             formatBytes(progress.bytes).c_str());
    return line;
  }
  snprintf(line, sizeof line,
           "%" PRIu64 " of %" PRIu64
           " evaluations, after '%.60s', about %.0f s left",
           progress.done, progress.total, progress.pass.c_str(),
           progress.secondsLeft);
  return line;
}

std::function<bool(const VerifyProgress &)>
tools::createPassProgress(const std::string &mode, bool quiet) {
  if (mode == "json")
    return [](const VerifyProgress &progress) {
      printJson(progress);
      return true;
    };
  if (mode == "none" || quiet)
    return nullptr;
  if (!isatty(STDERR_FILENO))
    return [](const VerifyProgress &progress) {
      if (progress.seconds + progress.secondsLeft >= longCheck)
        say(describe(progress));
      return true;
    };
  return [](const VerifyProgress &progress) {
    // The last report clears the line.
    fprintf(stderr, "\r\033[K%s",
            progress.done < progress.total ? describe(progress).c_str() : "");
    fflush(stderr);
    return true;
  };
}

Result<void> PassCheckFlags::apply(VerifyOptions &options, bool quiet) const {
  options.full = full;
  options.progress = createPassProgress(progress, quiet);
  if (!memLimit.empty()) {
    TRANSOM_ASSIGN(options.memLimit, parseBytes("--mem-limit", memLimit));
  }
  return {};
}

void tools::addPassCheckFlags(CLI::App &app, PassCheckFlags &flags,
                              CLI::Option *needed) {
  const std::string prefix = needed ? "with " + needed->get_name() + ": " : "";
  CLI::Option *options[] = {
      app.add_flag("--full", flags.full,
                   prefix + "evaluate all layers at their own widths; else of "
                            "equal layers three, and a large model at smaller "
                            "widths"),
      app.add_option("--mem-limit", flags.memLimit,
                     prefix +
                         "refuse a check that would take more memory, such as "
                         "4G (default: the memory of this machine)")
          ->type_name("SIZE"),
      addChoice(app, "--progress", flags.progress, {"auto", "none", "json"},
                prefix + "report progress on stderr (default auto: a line on a "
                         "terminal, else lines if it takes over 5 s)")};
  for (CLI::Option *option : options)
    if (needed)
      option->needs(needed);
}
