// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom compile: compiles a model folder or graph.json to a shared object, or
// to the text of an earlier stage.
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

/// The values of the flags.
struct Flags : CompileFlags {
  std::string emit = "so", progress = "auto", memLimit;
};

} // namespace

/// Returns a function that shows progress on stderr: a line that changes, or
/// lines of JSON. Null if nothing is shown.
static std::function<bool(const CompileProgress &)>
createProgressPrinter(const std::string &mode, bool quiet) {
  const bool terminal = isatty(STDERR_FILENO) && !quiet;
  if (mode == "none" || (mode == "auto" && !terminal))
    return nullptr;
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

/// The report as one line of JSON.
static std::string toJson(const CompileReport &report) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.key("written");
  json.array(report.written);
  json.member("file_bytes", report.fileBytes);
  json.member("parameters", report.parameters);
  json.key("seconds");
  json.beginObject();
  for (const auto &[stage, seconds] : report.seconds)
    json.member(stage, seconds);
  json.endObject();
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

/// Prints notes, with `-v` times and sizes, and on a terminal a last line.
static void tellReport(const CompileReport &report, const CommonFlags &common) {
  for (const std::string &text : report.notes)
    note(common, text);
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
  if (report.fileBytes == 0 || common.quiet || !isatty(STDERR_FILENO))
    return;
  snprintf(line, sizeof line, "%.1f s", total);
  say("wrote '" + report.written.back() + "': " +
      formatBytes(report.fileBytes) + ", " + line + ", code for " + isas);
}

/// Parses a size such as `512M`.
static Result<uint64_t> parseBytes(const std::string &text) {
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
  return usageError("invalid size " + quote(text) +
                    " for '--mem-limit': expected bytes, optionally with "
                    "suffix K, M, G or T");
}

/// Completes the options from the flags that are text.
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
    TRANSOM_ASSIGN(options.memLimit, parseBytes(flags.memLimit));
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
  Result<CompileReport> report = compiler->compile(flags.options);
  if (flags.options.progress && flags.progress != "json")
    flags.options.progress({""});
  if (!report)
    return report.takeError();
  tellReport(*report, common);
  return writeOut(common.json && report->text.empty() ? toJson(*report)
                                                      : report->text);
}

void tools::addCompile(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "compile",
                                "compile a model to a shared object");
  CLI::App &compile = *command.app;
  auto flags = std::make_shared<Flags>();
  compile
      .add_option("MODEL", flags->options.model,
                  "a model folder (config.json and *.safetensors) or a "
                  "graph.json")
      ->required();
  compile.add_option("-o,--output", flags->options.output, "file to write")
      ->type_name("FILE");
  addChoice(compile, "--emit", flags->emit, getStageNames(),
            "stop at this stage and print or write it (default so)");
  compile.add_flag("--emit-locations", flags->options.emitLocations,
                   "print the module path and the origin of each operation "
                   "with --emit attn, attn-opt and kern");
  addCompileFlags(compile, *flags);
  compile.add_flag("--check-stages", flags->options.checkRoundTrip,
                   "write LLVM IR and read it back, as is done with other "
                   "stages");
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
