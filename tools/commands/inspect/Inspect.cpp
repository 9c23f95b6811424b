// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom inspect: shows the contents of an artifact from its manifest; no code
// is executed. A model folder, or a config without weights, is read by the
// compiler's importer.
#include "compiler/inspect/Inspection.h"
#include "runtime/base/OutputFile.h"
#include "tools/commands/CompileFlags.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/inspect/ArtifactReport.h"
#include "tools/commands/inspect/Difference.h"
#include "tools/commands/inspect/GraphDrawing.h"

using namespace transom;
using namespace transom::tools;

namespace {

/// The command's flags.
struct InspectFlags {
  std::string path, other, graph;
  std::string output = "-";
  bool verify = false;
  MemorySizes sizes;
  CompileOptions compile; ///< types for a model that is not compiled
  std::vector<CLI::Option *> typeFlags;

  /// Returns true if a flag needs the plan for a model that is not compiled.
  bool needsPlan() const { return !sizes.isEmpty() || getTypeFlag(true); }
  /// Returns the first flag that sets a type, if any. Environment variables may
  /// be meant for other commands.
  const CLI::Option *getTypeFlag(bool fromEnvironment) const {
    for (const CLI::Option *option : typeFlags)
      if (option->count() &&
          (fromEnvironment || !getenv(option->get_envname().c_str())))
        return option;
    return nullptr;
  }
};

/// A report in both formats; unrequested formats may be empty.
struct Report {
  std::string json, text;
};

} // namespace

/// Adds the member `memory` to the object that ends a string.
static void addMemory(const MemoryTable &table, std::string &json) {
  std::string text;
  JsonWriter writer(text, 2);
  writer.beginObject();
  table.writeJson(writer);
  writer.endObject();
  json.resize(json.rfind('}'));
  while (json.back() == '\n' || json.back() == ' ')
    json.pop_back();
  json += "," + text.substr(1) + "\n";
}

static Result<Inspection> inspect(const std::string &path,
                                  const InspectFlags &flags, bool draws) {
  TRANSOM_TRY(checkModelSource(path));
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  InspectOptions options;
  options.model = path;
  options.plans = flags.needsPlan() && !draws;
  options.draws = draws;
  options.compile = flags.compile;
  return compiler->inspectModel(options);
}

static Result<Report> reportModel(const std::string &path,
                                  const InspectFlags &flags) {
  if (flags.verify)
    return usageError("--verify: '" + path +
                      "' is a model; expected a compiled model");
  TRANSOM_ASSIGN(Inspection inspection, inspect(path, flags, false));
  Report report{std::move(inspection.json), std::move(inspection.text)};
  if (inspection.plan) {
    TRANSOM_ASSIGN(MemoryTable table,
                   MemoryTable::create(*inspection.plan, flags.sizes));
    addMemory(table, report.json);
    table.addText(report.text);
  }
  return report;
}

static Result<Report> reportArtifact(const std::string &path,
                                     const InspectFlags &flags) {
  TRANSOM_TRY(checkModelArtifact(path));
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(path));
  if (flags.verify)
    TRANSOM_TRY(file.checkWeights());
  TRANSOM_ASSIGN(MemoryTable memory,
                 MemoryTable::create(file.manifest(), flags.sizes));
  TRANSOM_ASSIGN(ArtifactReport report,
                 ArtifactReport::create(file, flags.verify, memory));
  return Report{report.toJson(), report.getText()};
}

static Result<Report> report(const std::string &path,
                             const InspectFlags &flags) {
  return isModelSource(path) ? reportModel(path, flags)
                             : reportArtifact(path, flags);
}

static Result<ComparedModel> readFacts(const std::string &path,
                                       const InspectFlags &flags) {
  TRANSOM_ASSIGN(Report report, ::report(path, flags));
  TRANSOM_ASSIGN(JsonDocument document, parseJson(report.json, path));
  return collectFacts(path, !isModelSource(path), document.root());
}

static Result<void> runDiff(const InspectFlags &flags,
                            const CommonFlags &common) {
  TRANSOM_ASSIGN(ComparedModel left, readFacts(flags.path, flags));
  TRANSOM_ASSIGN(ComparedModel right, readFacts(flags.other, flags));
  if (left.isArtifact && !right.isArtifact)
    TRANSOM_TRY(addFileHashes(right, left));
  if (right.isArtifact && !left.isArtifact)
    TRANSOM_TRY(addFileHashes(left, right));
  const Difference difference = compare(left, right);
  return writeOut(common.json
                      ? difference.toJson()
                      : escapeLines(difference.getText(common.verbose)));
}

static Result<void> runGraph(const InspectFlags &flags) {
  if (!isModelSource(flags.path))
    return usageError("--graph: '" + flags.path +
                      "' is compiled; expected a model folder, a config.json, "
                      "a GGUF file or a graph.json");
  OutputFile file;
  if (flags.output != "-") {
    TRANSOM_ASSIGN(file, OutputFile::create(flags.output));
  }
  TRANSOM_ASSIGN(Inspection inspection, inspect(flags.path, flags, true));
  const std::string picture = flags.graph == "dot" ? drawDot(*inspection.graph)
                                                   : drawSvg(*inspection.graph);
  if (!file.isOpen())
    return writeOut(picture);
  TRANSOM_TRY(file.append(picture));
  return file.commit();
}

static Result<void> runInspect(const InspectFlags &flags,
                               const CommonFlags &common) {
  if (const CLI::Option *flag = flags.getTypeFlag(false);
      flag && !isModelSource(flags.path) &&
      (flags.other.empty() || !isModelSource(flags.other)))
    return usageError("'--" + flag->get_lnames().front() +
                      "': " + quote(flags.path) +
                      " is compiled; expected a model that is not");
  if (!flags.graph.empty())
    return runGraph(flags);
  if (!flags.other.empty())
    return runDiff(flags, common);
  TRANSOM_ASSIGN(Report report, ::report(flags.path, flags));
  return writeOut(common.json ? report.json : escapeLines(report.text));
}

static void addSizes(CLI::App &app, InspectFlags &flags) {
  const CLI::Validator size = wholeNumber(1, uint64_t(1) << 30);
  app.add_option("-b,--batch", flags.sizes.batches,
                 "numbers of sequences in the table of memory (default 1,8,32)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(size);
  app.add_option("-s,--seq", flags.sizes.lengths,
                 "their lengths (default 128,512,2048 and the maximum); for a "
                 "model that is not compiled, -b, -s and the flags of types "
                 "below request the table, which runs the passes of a compile")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(size);
  const size_t before = app.get_options().size();
  addTypeFlags(app, flags.compile);
  flags.typeFlags = app.get_options();
  flags.typeFlags.erase(flags.typeFlags.begin(),
                        flags.typeFlags.begin() + ptrdiff_t(before));
}

void tools::addInspect(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "inspect", "what a model or artifact holds");
  auto flags = std::make_shared<InspectFlags>();
  // Subject and checks.
  command.app
      ->add_option("PATH", flags->path,
                   "a compiled model, a model folder, a config.json without "
                   "weights, a GGUF file or a graph.json")
      ->required();
  command.app->add_flag("--verify", flags->verify,
                        "also read all weights and compare their sha256");
  addSizes(*command.app, *flags);
  // Comparison and drawing exclude each other.
  auto *diff = command.app->add_option(
      "--diff", flags->other,
      "say what differs in this model or artifact; the exit code is 0 also "
      "where something does");
  diff->type_name("PATH");
  addChoice(*command.app, "--graph", flags->graph, {"svg", "dot"},
            "draw a model that is not compiled, equal layers as one")
      ->excludes(diff);
  command.app
      ->add_option("-o,--output", flags->output,
                   "file for the graph (default: stdout)")
      ->type_name("FILE");
  command.run = [flags](const CommonFlags &common) {
    return runInspect(*flags, common);
  };
}
