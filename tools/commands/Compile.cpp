// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom compile: a model folder or graph.json to a shared object, or to the
// text of a stage on the way.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/Compiler.h"
#include <CLI/Validators.hpp>
#include <cinttypes>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

namespace {

/// The flags as given.
struct CompileFlags {
  CompileOptions options;
  std::string emit = "so", quantize, weights = "embed", progress = "auto",
              memLimit;
  unsigned groupSize = 0;
};

/// Values that the interface has and this version does not build.
struct NotBuilt {
  const char *flag;
  const std::string &value;
  const char *built;
};

} // namespace

static Result<void> checkBuilt(const CompileFlags &flags) {
  const NotBuilt choices[] = {{"--quantize", flags.quantize, ""},
                              {"--weights", flags.weights, "embed"}};
  for (const NotBuilt &choice : choices)
    if (!choice.value.empty() && choice.value != choice.built)
      return unsupported(
          "'" + std::string(choice.flag) + " " + choice.value +
          "' is not built" +
          (*choice.built ? "; built: " + std::string(choice.built) : ""));
  if (flags.groupSize != 0)
    return unsupported("'--group-size' needs '--quantize', which is not built");
  return {};
}

/// `512M` and the like in bytes.
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
  return usageError("'--mem-limit " + text +
                    "' is no size; write bytes, or K, M, G, T behind a number");
}

/// Shows progress on stderr: nothing, one line that changes, or JSON lines.
static std::function<bool(const CompileProgress &)>
progressPrinter(const std::string &mode, bool quiet) {
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

/// What was written, and how long it took.
static std::string jsonOf(const CompileReport &report) {
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

static Result<void> runCompile(CompileFlags &flags, const CommonFlags &common) {
  if (Result<void> built = checkBuilt(flags); !built)
    return built;
  TRANSOM_ASSIGN(EmitStage emit, parseEmitStage(flags.emit));
  flags.options.emit = emit;
  if (flags.options.output == "-") {
    if (emit == EmitStage::So || emit == EmitStage::Obj)
      return usageError("'" + flags.emit +
                        "' is not written to stdout; give -o a file");
    flags.options.output.clear();
  }
  if (!flags.memLimit.empty()) {
    TRANSOM_ASSIGN(uint64_t bytes, parseBytes(flags.memLimit));
    flags.options.memLimit = bytes;
  }
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  if (flags.options.jobs == 0)
    flags.options.jobs = common.threads;
  flags.options.progress = progressPrinter(flags.progress, common.quiet);
  Result<CompileReport> report = compiler->compile(flags.options);
  if (flags.options.progress && flags.progress != "json")
    flags.options.progress({""});
  if (!report)
    return report.takeError();
  for (const std::string &text : report->notes)
    note(common, text);
  if (common.verbose) {
    for (const auto &[stage, seconds] : report->seconds)
      fprintf(stderr, "transom: %-9s %7.3f s\n", stage.c_str(), seconds);
    for (const CompiledCode &code : report->code)
      fprintf(stderr,
              "transom: %s: %" PRIu64 " phases, %" PRIu64
              " micro-kernels, %" PRIu64 " bytes of code\n",
              code.isa.c_str(), code.phases, code.kernels, code.bytes);
  }
  return writeOut(common.json && report->text.empty() ? jsonOf(*report)
                                                      : report->text);
}

void tools::addCompile(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(app, commands, "compile",
                                "compile a model to a shared object");
  CLI::App &flagsOf = *command.app;
  auto flags = std::make_shared<CompileFlags>();
  flagsOf
      .add_option("MODEL", flags->options.model,
                  "a model folder (config.json and *.safetensors) or a "
                  "graph.json")
      ->required();
  flagsOf.add_option("-o,--output", flags->options.output, "file to write")
      ->type_name("FILE");
  flagsOf
      .add_option("--target", flags->options.targets,
                  "CPUs to make code for (repeatable): native, x86-64-v3, "
                  "x86-64-v4, aarch64; default: all of x86-64, chosen at "
                  "load")
      ->type_name("NAME")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  addChoice(flagsOf, "--dtype", flags->options.dtype, {"f32", "bf16"},
            "type of weights and activations (default f32)");
  addChoice(flagsOf, "--quantize", flags->quantize, {"int8", "int4"},
            "integer weights");
  flagsOf
      .add_option("--group-size", flags->groupSize, "weights with one scale")
      ->check(CLI::IsMember({32u, 64u, 128u}));
  addChoice(flagsOf, "--kv-dtype", flags->options.kvDtype,
            {"f32", "bf16", "int8"},
            "type of cached keys and values (default: as --dtype)");
  addChoice(flagsOf, "--backend", flags->options.backend, {"native", "onednn"},
            "who computes products, softmax and norms (default native)");
  flagsOf
      .add_option("--attention-schedule", flags->options.attentionSchedule,
                  "how attention cuts its work: auto, pieces, kept or spread, "
                  "perhaps with the rows of a block ('pieces:12'); the result "
                  "is the same (default auto)")
      ->type_name("KIND[:ROWS]");
  addChoice(flagsOf, "--emit", flags->emit, emitStageNames(),
            "stop at this stage and print or write it (default so)");
  flagsOf
      .add_option("-O,--opt-level", flags->options.optLevel,
                  "0: compile in half of the time; the code is slower but "
                  "bit-identical (default 2)")
      ->type_name("0|2")
      ->check(CLI::IsMember({0u, 2u}));
  addChoice(flagsOf, "--weights", flags->weights, {"embed", "external"},
            "where weights go (default embed)");
  flagsOf
      .add_option("--mem-limit", flags->memLimit,
                  "refuse to take more memory than this")
      ->type_name("BYTES");
  flagsOf
      .add_option("-j,--jobs", flags->options.jobs,
                  "threads that generate code (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u));
  addChoice(flagsOf, "--progress", flags->progress, {"auto", "none", "json"},
            "progress on stderr (default auto: on a terminal)");
  flagsOf
      .add_option("--disable-pass", flags->options.disabledPasses,
                  "leave a pass out (repeatable); see 'transom-opt --help'")
      ->type_name("NAME")
      ->delimiter(',')
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  flagsOf.add_flag("--ignore-generation-config",
                   flags->options.ignoreGenerationConfig,
                   "do not read generation_config.json");
  flagsOf.add_flag("--check-stages", flags->options.checkRoundTrip,
                   "write the module and read it back between stages");
  command.run = [flags](const CommonFlags &common) {
    return runCompile(*flags, common);
  };
}
