// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command-line tool: parses the arguments, runs the command, and reports an
// error as one line and an exit code.
#include "runtime/base/FileUse.h"
#include "tools/commands/Arguments.h"
#include "tools/commands/FatalErrors.h"
#include "transom/transom.h"
#include <csignal>
#include <set>
#include <sys/stat.h>

using namespace transom;
using namespace transom::tools;

/// Runs before the constructors of static objects, which may throw.
[[gnu::constructor(101)]] static void prepare() { handleUncaughtExceptions(); }

/// Records the files that flags name as inputs. Must run before a command opens
/// an output, which would replace an input with the name of its partial file.
static void recordInputs(const CLI::App &command) {
  const std::set<std::string> types = {"F", "FILE", "FILE..", "PATH", "SO"};
  const std::set<std::string> outputs = {"output", "out", "html",
                                         "model-explorer", "trace"};
  for (const CLI::Option *option : command.get_options()) {
    if (option->get_lnames().empty() ||
        outputs.count(option->get_lnames().front()) ||
        !types.count(option->get_type_name()))
      continue;
    struct stat status;
    for (const std::string &path : option->results())
      if (stat(path.c_str(), &status) == 0)
        (void)FileUse::addInput(status, path);
  }
}

static int runTool(int argc, char **argv) {
  // Register the commands.
  CLI::App app("transom compiles Transformers to shared objects and runs them.",
               "transom");
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "transom " + std::string(transom_version()),
                       "print the version");
  app.allow_extras();
  CommandList commands;
  for (auto *add : {addCompile, addRun, addGenerate, addTranslate, addSummarize,
                    addScore, addEmbed, addClassify, addTag, addAnswer,
                    addFillMask, addRerank, addSimilarity, addAttention,
                    addTokenize, addInspect, addExplain, addVerify, addBench})
    add(app, commands);
  for (Command &command : commands)
    addEnvironmentVariables(*command.app);

  // Parse the arguments.
  int code = 0;
  const std::vector<std::string> arguments = splitEmptyValues(argc, argv);
  const Command *command = parseArguments(app, commands, arguments, code);
  if (!command)
    return code;
  // Run the command, and report its error.
  recordInputs(*command->app);
  Result<void> done = withFileConflict(command->run(*command->common));
  if (done)
    done = finishOut();
  if (done)
    return 0;
  return reportError(
      nameEnvironment(*command->app, arguments, done.takeError()),
      command->common->verbose);
}

int main(int argc, char **argv) {
  // Exceeding the shell's file size limit is an error like a full disk.
  signal(SIGXFSZ, SIG_IGN);
  openStandardStreams();
  return runProgram([&] { return runTool(argc, argv); });
}
