// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom compile: compiles a model folder, GGUF file or graph.json to a shared
// object, or to the text form of an earlier stage.
#include "runtime/json/Json.h"
#include "tools/commands/CompileFlags.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include <CLI/Validators.hpp>
#include <cinttypes>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// Flag values.
struct Flags : CompileFlags {
  std::string emit = "so", progress = "auto", memLimit;
};

} // namespace

/// Returns a function that shows progress on stderr: a line that changes, or
/// JSON lines. Returns null if nothing is shown.
static std::function<bool(const CompileProgress &)>
createProgressPrinter(const std::string &mode, bool quiet) {
  const bool terminal = isatty(STDERR_FILENO) && !quiet;
  if (mode == "none" || (mode == "auto" && !terminal))
    return nullptr;
  // JSON: a line per report.
  if (mode == "json")
    return [](const CompileProgress &progress) {
      std::string line;
      JsonWriter json(line);
      json.beginObject();
      json.member("stage", progress.stage);
      json.member("done", progress.done);
      json.member("total", progress.total);
      json.endObject();
      fprintf(stderr, "%s\n", line.c_str());
      return true;
    };
  // Terminal: replace the line.
  return [](const CompileProgress &progress) {
    fprintf(stderr, "\r\033[K%s", progress.stage);
    if (progress.total > 0)
      fprintf(stderr, " %.0f %%",
              100.0 * static_cast<double>(progress.done) /
                  static_cast<double>(progress.total));
    if (*progress.stage == '\0') // done: leave the line empty
      fprintf(stderr, "\r\033[K");
    fflush(stderr);
    return true;
  };
}

/// Writes the pass times that `--time-passes` measured.
static void writePasses(JsonWriter &json, const CompileReport &report) {
  json.key("passes");
  json.beginArray();
  for (const PassTime &pass : report.passes) {
    json.beginObject();
    json.member("stage", pass.stage);
    json.member("pass", pass.pass);
    if (!pass.isa.empty())
      json.member("isa", pass.isa);
    json.member("seconds", pass.seconds);
    json.member("operations_before", pass.operationsBefore);
    json.member("operations_after", pass.operationsAfter);
    json.member("passed", pass.passed);
    json.member("missed", pass.missed);
    json.endObject();
  }
  json.endArray();
}

/// Returns the report as one JSON line.
static std::string toJson(const CompileReport &report) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  // Files and sizes.
  json.key("written");
  json.array(report.written);
  json.member("file_bytes", report.fileBytes);
  json.member("parameters", report.parameters);
  // Times by stage and pass.
  json.key("seconds");
  json.beginObject();
  for (const auto &[stage, seconds] : report.seconds)
    json.member(stage, seconds);
  json.endObject();
  if (!report.passes.empty())
    writePasses(json, report);
  // Code size by instruction set.
  json.key("code");
  json.beginArray();
  for (const CompiledCode &code : report.code) {
    json.beginObject();
    json.member("isa", code.isa);
    json.member("phases", code.phases);
    json.member("kernels", code.kernels);
    json.member("bytes", code.bytes);
    json.endObject();
  }
  json.endArray();
  json.key("notes");
  json.array(report.notes);
  json.endObject();
  return line + "\n";
}

/// Prints pass times below their stage times. The difference is the time for
/// writing and reading the stage's module.
static void printPassTimes(const CompileReport &report) {
  double total = 0;
  for (const auto &[stage, seconds] : report.seconds)
    total += seconds;
  auto getShare = [&](double seconds) {
    return total > 0 ? 100 * seconds / total : 0;
  };
  fprintf(stderr, "%-46s %10s %7s %21s %6s %6s\n", "pass", "ms", "share",
          "operations", "passed", "missed");
  for (const auto &[stage, seconds] : report.seconds) {
    fprintf(stderr, "%-46s %10.2f %5.1f %%\n", stage.c_str(), 1000 * seconds,
            getShare(seconds));
    for (const PassTime &pass : report.passes)
      if (pass.stage == stage)
        fprintf(
            stderr,
            "  %-44s %10.2f %5.1f %% %9" PRIu64 " -> %8" PRIu64 " %6" PRIu64
            " %6" PRIu64 "\n",
            (pass.pass + (pass.isa.empty() ? "" : " for " + pass.isa)).c_str(),
            1000 * pass.seconds, getShare(pass.seconds), pass.operationsBefore,
            pass.operationsAfter, pass.passed, pass.missed);
  }
  fprintf(stderr, "%-46s %10.2f\n", "total", 1000 * total);
}

/// Prints notes, with `-v` times and sizes, and on a terminal a final summary.
static void tellReport(const CompileReport &report, const CommonFlags &common) {
  for (const std::string &text : report.notes)
    note(common, text);
  // Stage times and code sizes, and their sums for the summary.
  char line[160];
  double total = 0;
  std::string isas;
  for (const auto &[stage, seconds] : report.seconds) {
    total += seconds;
    snprintf(line, sizeof line, "%-9s %7.3f s", stage.c_str(), seconds);
    if (common.verbose)
      say(line);
  }
  for (const CompiledCode &code : report.code) {
    isas += (isas.empty() ? "" : ", ") + code.isa;
    snprintf(line, sizeof line,
             "%s: %" PRIu64 " phases, %" PRIu64 " micro-kernels, %" PRIu64
             " bytes of code",
             code.isa.c_str(), code.phases, code.kernels, code.bytes);
    if (common.verbose)
      say(line);
  }
  // The summary.
  if (report.fileBytes == 0 || common.quiet || !isatty(STDERR_FILENO))
    return;
  snprintf(line, sizeof line, "%.1f s", total);
  say("wrote '" + report.written.back() + "': " +
      formatBytes(report.fileBytes) + ", " + line + ", code for " + isas);
}

/// Completes the options from string flags.
static Result<void> finishFlags(Flags &flags, const CommonFlags &common) {
  CompileOptions &options = flags.options;
  TRANSOM_ASSIGN(options.emit, parseStage(flags.emit));
  if (options.output == "-") {
    if (options.emit == Stage::So || options.emit == Stage::Obj)
      return usageError("'" + flags.emit +
                        "' is not written to stdout; give a file with '-o'");
    options.output.clear();
  }
  if (!flags.memLimit.empty()) {
    TRANSOM_ASSIGN(options.memLimit, parseBytes("--mem-limit", flags.memLimit));
  }
  if (options.jobs == 0)
    options.jobs = common.threads;
  TRANSOM_TRY(finishOptions(flags));
  return checkModelSource(options.model);
}

static Result<void> runCompile(Flags &flags, const CommonFlags &common) {
  TRANSOM_TRY(finishFlags(flags, common));
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  flags.options.progress = createProgressPrinter(flags.progress, common.quiet);
  flags.options.print = [](const std::string &text) {
    fputs(text.c_str(), stderr);
  };
  Result<CompileReport> report = compiler->compile(flags.options);
  if (flags.options.progress && flags.progress != "json")
    flags.options.progress({""});
  if (!report)
    return report.takeError();
  tellReport(*report, common);
  if (flags.options.timePasses && !common.json)
    printPassTimes(*report);
  return writeOut(common.json && report->text.empty() ? toJson(*report)
                                                      : report->text);
}

/// Adds flags that show stages and passes, or resume from a stage.
static void addStageFlags(CLI::App &compile, CompileOptions &options) {
  compile
      .add_option("--stages", options.stagesFolder,
                  "write the modules and the code of all stages into a folder, "
                  "with an index")
      ->type_name("FOLDER");
  compile
      .add_option("--resume-from", options.resumeFrom,
                  "go on from a file of such a folder; MODEL gives weights, "
                  "tokenizer and settings")
      ->type_name("FILE|FOLDER/STAGE");
  addList(compile, "--print-after", options.printAfter,
          "print the module to stderr after a pass, such as 'cse:2' "
          "(repeatable)");
  compile.add_flag("--print-changed", options.printChanged,
                   "print the module to stderr after each pass that changes "
                   "it");
  compile.add_flag("--time-passes", options.timePasses,
                   "print for each pass its time, how many operations there "
                   "are before and after it, and its remarks; with --json as "
                   "'passes'");
  compile.add_flag("--check-stages", options.checkRoundTrip,
                   "write LLVM IR and read it back, as is done with other "
                   "stages");
}

void tools::addCompile(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "compile",
                                "compile a model to a shared object");
  CLI::App &compile = *command.app;
  auto flags = std::make_shared<Flags>();
  // Model and output.
  compile
      .add_option("MODEL", flags->options.model,
                  "a model folder (config.json and *.safetensors), a GGUF "
                  "file or a graph.json")
      ->required();
  compile.add_option("-o,--output", flags->options.output, "file to write")
      ->type_name("FILE");
  addChoice(compile, "--emit", flags->emit, getStageNames(),
            "stop at this stage and print or write it; code of several "
            "instruction sets to one file each (default so)");
  compile.add_flag("--emit-locations", flags->options.emitLocations,
                   "print the module path and the origin of each operation "
                   "with --emit attn, attn-opt and kern");
  compile.add_flag("--debug-info", flags->options.debugInfo,
                   "with --emit so and obj: add line tables, and write the "
                   "listing that they refer to as FILE.kern.mlir");
  // Shared compile flags, stages and the pass check.
  addCompileFlags(compile, *flags);
  addStageFlags(compile, flags->options);
  compile.add_flag("--certify", flags->options.certify,
                   "check each pass as 'verify' does, and write the "
                   "certificate into the manifest");
  // Resources and progress.
  compile
      .add_option("-j,--jobs", flags->options.jobs,
                  "threads that generate code (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u));
  compile
      .add_option("--mem-limit", flags->memLimit,
                  "fail if the compile may take more memory than this")
      ->type_name("BYTES");
  addChoice(compile, "--progress", flags->progress, {"auto", "none", "json"},
            "report progress on stderr (default auto: if it is a terminal)");
  command.run = [flags](const CommonFlags &common) {
    return runCompile(*flags, common);
  };
}
