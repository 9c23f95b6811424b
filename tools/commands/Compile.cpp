// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom compile: compiles a model folder or graph.json to a shared object, or
// to the text of an earlier stage.
#include "runtime/json/Json.h"
#include "runtime/weights/OperandFormat.h"
#include "tools/commands/Command.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/NumberList.h"
#include <CLI/Validators.hpp>
#include <cinttypes>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// The values of the flags.
struct CompileFlags {
  CompileOptions options;
  std::string emit = "so", quantize, weights = "embed", progress = "auto",
              memLimit, attentionLayers, attentionHeads;
  unsigned groupSize = 0;
};

} // namespace

/// Refuses flags of the interface that this version does not support.
static Result<void> checkSupported(const CompileFlags &flags) {
  if (!flags.quantize.empty())
    return unsupported("'--quantize " + flags.quantize + "' is not supported");
  if (flags.groupSize != 0)
    return unsupported(
        "'--group-size' needs '--quantize', which is not supported");
  if (flags.weights != "embed")
    return unsupported("'--weights " + flags.weights +
                       "' is not supported; supported: embed");
  return {};
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

/// Completes the options from the flags that are text.
static Result<void> finishOptions(CompileFlags &flags,
                                  const CommonFlags &common) {
  CompileOptions &options = flags.options;
  TRANSOM_TRY(checkSupported(flags));
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
  if (!options.attention &&
      !(flags.attentionLayers.empty() && flags.attentionHeads.empty()))
    return usageError(
        "'--attention-layers' and '--attention-heads' need '--attention'");
  TRANSOM_ASSIGN(options.attentionLayers,
                 parseNumberList("--attention-layers", flags.attentionLayers));
  TRANSOM_ASSIGN(options.attentionHeads,
                 parseNumberList("--attention-heads", flags.attentionHeads));
  if (options.jobs == 0)
    options.jobs = common.threads;
  return checkModelSource(options.model);
}

static Result<void> runCompile(CompileFlags &flags, const CommonFlags &common) {
  TRANSOM_TRY(finishOptions(flags, common));
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

/// Adds a flag that may be repeated, with a value each.
static void addList(CLI::App &app, const std::string &flag,
                    std::vector<std::string> &values, const std::string &help) {
  app.add_option(flag, values, help)
      ->type_name("NAME")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// Flags that decide what the code computes with.
static void addNumberFlags(CLI::App &app, CompileFlags &flags) {
  addChoice(app, "--dtype", flags.options.dtype, {"f32", "bf16"},
            "type of weights and activations (default f32)");
  addChoice(app, "--kv-dtype", flags.options.kvDtype, getCacheOptions(),
            "type of a decoder's cached keys and values (default: as --dtype)");
  // Of the interface, but not supported: not in the help.
  addChoice(app, "--quantize", flags.quantize, {"int8", "int4"}, "")->group("");
  app.add_option("--group-size", flags.groupSize, "")
      ->check(CLI::IsMember({32u, 64u, 128u}))
      ->group("");
  addChoice(app, "--weights", flags.weights, {"embed", "external"}, "")
      ->group("");
}

/// Flags that decide how code is generated.
static void addCodeFlags(CLI::App &app, CompileFlags &flags) {
  addList(app, "--target", flags.options.targets,
          "CPUs to generate code for (repeatable): native, x86-64-v3, "
          "x86-64-v4, aarch64 (default: all of x86-64, chosen at load)");
  addChoice(app, "--backend", flags.options.backend, {"native", "onednn"},
            "what computes products, softmax and norms (default native)");
  app.add_option("--attention-schedule", flags.options.attentionSchedule,
                 "how attention divides its work: auto, streaming, two-pass or "
                 "split-kv, optionally with the most query rows of a work item "
                 "('streaming:12'); results are bit-identical (default auto)")
      ->type_name("KIND[:ROWS]");
  app.add_option("-O,--opt-level", flags.options.optLevel,
                 "0: compile in half of the time; the code is slower but "
                 "bit-identical "
                 "(default 2)")
      ->type_name("0|2")
      ->check(CLI::IsMember({0u, 2u}));
  app.add_flag("--attention", flags.options.attention,
               "add an entry that returns the weights of attention, which "
               "'transom attention' shows");
  app.add_option("--attention-layers", flags.attentionLayers,
                 "with --attention: layers, such as 0,2-5 (default: all)")
      ->type_name("LIST");
  app.add_option("--attention-heads", flags.attentionHeads,
                 "with --attention: heads, such as 0,2-5 (default: all)")
      ->type_name("LIST");
  addList(app, "--disable-pass", flags.options.disabledPasses,
          "skip a pass (repeatable); see 'transom-opt --help'");
  addList(app, "--load-pass-plugin", flags.options.passPlugins,
          "run the passes of a plug-in at its extension points (repeatable)");
  app.add_flag("--check-stages", flags.options.checkRoundTrip,
               "write LLVM IR and read it back, as is done with other stages");
  app.add_option("-j,--jobs", flags.options.jobs,
                 "threads that generate code (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u));
}

void tools::addCompile(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "compile",
                                "compile a model to a shared object");
  CLI::App &compile = *command.app;
  auto flags = std::make_shared<CompileFlags>();
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
  addNumberFlags(compile, *flags);
  compile.add_flag("--ignore-generation-config",
                   flags->options.ignoreGenerationConfig,
                   "do not read generation_config.json");
  addCodeFlags(compile, *flags);
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
