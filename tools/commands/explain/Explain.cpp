// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom explain: shows the compiler's decisions and their reasons, pass by
// pass.
#include "compiler/explain/ExplanationJson.h"
#include "runtime/base/File.h"
#include "runtime/base/OutputFile.h"
#include "runtime/base/OutputPath.h"
#include "tools/commands/CompileFlags.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/explain/Comparison.h"
#include "tools/commands/explain/ExplainPage.h"
#include "tools/commands/explain/ExplainText.h"
#include "tools/commands/explain/ModelExplorer.h"
#include "tools/commands/explain/Verification.h"
#include "tools/commands/verify/PassProgress.h"
#include <set>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

namespace {

struct ExplainFlags {
  CompileFlags compile;
  std::string other, otherFlags;
  bool ir = false;
  bool verify = false;
  PassCheckFlags check;
  VerifyOptions passes; ///< from `check`
  /// Files to write: the page, the graphs; empty: none.
  std::string page, modelExplorer;
  /// Files to show: profiles and assembly; empty: none.
  std::string profile, otherProfile, assembly, otherAssembly;

  bool compares() const { return !other.empty() || !otherFlags.empty(); }
  /// Options for the pass check; null without `--verify`.
  const VerifyOptions *getCheck() const { return verify ? &passes : nullptr; }
};

} // namespace

/// Returns true for a file that `explain --json` wrote.
static bool isExplanation(const std::string &path) {
  if (isFolder(path) || !fileExists(path))
    return false;
  Result<JsonDocument> document = parseJsonFile(path);
  return document && document->root().find("format") &&
         document->root().find("passes");
}

/// Optional parts that an explanation includes.
struct Extent {
  bool ir = false;
  const VerifyOptions *verify = nullptr; ///< options for the pass check
};

/// Compiles a model, or reads a saved explanation.
static Result<Explanation> getExplanation(const CompileOptions &options,
                                          const Extent &extent) {
  if (isExplanation(options.model)) {
    TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(options.model));
    return parseExplanation(document);
  }
  TRANSOM_TRY(checkModelSource(options.model));
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  TRANSOM_ASSIGN(Explanation explanation,
                 compiler->explainModel({options, extent.ir}));
  // A failed compile has no code and no certificate for its passes.
  if (extent.verify && !explanation.failure)
    TRANSOM_TRY(addVerification(options, *extent.verify, explanation));
  return Result<Explanation>(std::move(explanation));
}

/// Converts a compile failure to an error.
static Error toError(const ExplainedFailure &failure) {
  // A saved explanation may contain any status.
  const bool isExitCode = failure.status > 0 && failure.status < 256;
  return {isExitCode ? static_cast<Status>(failure.status) : Status::Internal,
          failure.message, failure.notes};
}

/// Returns the explanation for a compile that succeeded, otherwise its error.
static Result<Explanation> getWholeExplanation(const CompileOptions &options,
                                               const Extent &extent) {
  TRANSOM_ASSIGN(Explanation explanation, getExplanation(options, extent));
  if (explanation.failure)
    return toError(*explanation.failure);
  return Result<Explanation>(std::move(explanation));
}

/// Applies the flags in `--other-flags` on top of the first compile's flags.
static Result<void> parseOtherFlags(const std::string &text,
                                    CompileFlags &flags) {
  CLI::App parser;
  addCompileFlags(parser, flags);
  try {
    parser.parse(text);
  } catch (const CLI::ParseError &error) {
    std::string what = error.what();
    return usageError("'--other-flags': " + what.substr(0, what.find('\n')));
  }
  return finishOptions(flags);
}

/// Returns the second explanation.
static Result<Explanation> getOther(const ExplainFlags &flags,
                                    const Extent &extent) {
  CompileFlags other = flags.compile;
  if (!flags.other.empty())
    other.options.model = flags.other;
  TRANSOM_TRY(parseOtherFlags(flags.otherFlags, other));
  return getWholeExplanation(other.options, extent);
}

/// Reads the measured calls in a file; none without a path.
static Result<std::vector<MeasuredCall>> readCalls(const std::string &path) {
  if (path.empty())
    return std::vector<MeasuredCall>();
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  return readProfile(document);
}

/// Prints the differences between two explanations, as text or JSON.
static Result<void> printComparison(const Explanation &first,
                                    const Explanation &second,
                                    const ExplainFlags &flags,
                                    const CommonFlags &common) {
  TRANSOM_ASSIGN(std::vector<MeasuredCall> callsA, readCalls(flags.profile));
  TRANSOM_ASSIGN(std::vector<MeasuredCall> callsB,
                 readCalls(flags.otherProfile));
  const Comparison comparison =
      compare({first, std::move(callsA)}, {second, std::move(callsB)});
  return writeOut(common.json
                      ? toJson(comparison)
                      : escapeLines(toText(comparison, common.verbose)));
}

static Result<void> runComparison(const ExplainFlags &flags,
                                  const CommonFlags &common) {
  TRANSOM_ASSIGN(Explanation first,
                 getWholeExplanation(flags.compile.options, {}));
  TRANSOM_ASSIGN(Explanation second, getOther(flags, {}));
  keepCommon(first, second);
  return printComparison(first, second, flags, common);
}

/// Prints one explanation, as text or JSON.
static Result<void> printExplanation(const Explanation &explanation,
                                     const ExplainFlags &flags,
                                     const CommonFlags &common) {
  TRANSOM_ASSIGN(std::vector<MeasuredCall> calls, readCalls(flags.profile));
  return writeOut(
      common.json ? toJson(explanation)
                  : escapeLines(toText({explanation, calls}, common.verbose)));
}

/// Removes the IR, which only the page and `--ir` show.
static void dropIr(Explanation &explanation) {
  explanation.importedIr.reset();
  explanation.code.clear();
  for (ExplainedPass &pass : explanation.passes)
    pass.ir.reset();
}

/// Reads a file; empty without a path.
static Result<std::string> readText(const std::string &path) {
  if (path.empty())
    return std::string();
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(path));
  return std::string(file.bytes());
}

/// Reads the model files that operation locations refer to. Long files are
/// omitted; a saved explanation has none.
static Result<std::map<std::string, std::string>>
readSources(const std::string &model, const Explanation &explanation) {
  std::map<std::string, std::string> sources;
  if (isExplanation(model))
    return sources;
  const std::string folder =
      isFolder(model) ? model + "/" : model.substr(0, model.rfind('/') + 1);
  std::set<std::string> names = {explanation.model.file};
  for (const ExplainedRemark &remark : explanation.remarks)
    names.insert(remark.place.file);
  for (const ExplainedEntry &entry : explanation.entries)
    for (const ExplainedPhase &phase : entry.phases)
      names.insert(phase.place.file);
  constexpr uint64_t most = uint64_t(2) << 20;
  for (const std::string &name : names) {
    if (name.empty() || name.find('/') != std::string::npos ||
        !fileExists(folder + name))
      continue;
    TRANSOM_ASSIGN(MappedFile file, MappedFile::open(folder + name));
    if (file.bytes().size() <= most)
      sources[name] = file.bytes();
  }
  return Result<std::map<std::string, std::string>>(std::move(sources));
}

/// Collects the page data for one compilation.
static Result<ShownCompilation> getShown(const std::string &model,
                                         const Explanation &explanation,
                                         const std::string &profile,
                                         const std::string &assembly) {
  ShownCompilation shown;
  shown.explanation = toJson(explanation);
  TRANSOM_ASSIGN(shown.sources, readSources(model, explanation));
  TRANSOM_ASSIGN(shown.profile, readText(profile));
  TRANSOM_ASSIGN(shown.assembly, readText(assembly));
  return Result<ShownCompilation>(std::move(shown));
}

static Result<void> writePageFile(const ExplainFlags &flags,
                                  const CommonFlags &common) {
  TRANSOM_ASSIGN(const OutputPath place, resolveOutputPath(flags.page));
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(flags.page));
  std::vector<ShownCompilation> shown;
  const std::string &model = flags.compile.options.model;
  const Extent extent{true, flags.getCheck()};
  TRANSOM_ASSIGN(Explanation first,
                 getWholeExplanation(flags.compile.options, extent));
  std::optional<Explanation> second;
  if (flags.compares()) {
    TRANSOM_ASSIGN(second, getOther(flags, extent));
    keepCommon(first, *second);
  }
  TRANSOM_ASSIGN(shown.emplace_back(),
                 getShown(model, first, flags.profile, flags.assembly));
  if (second) {
    TRANSOM_ASSIGN(shown.emplace_back(),
                   getShown(flags.other.empty() ? model : flags.other, *second,
                            flags.otherProfile, flags.otherAssembly));
  }
  TRANSOM_TRY(writeExplainPage(
      shown, [&](std::string_view bytes) { return file.append(bytes); }));
  TRANSOM_TRY(file.commit());
  if (!common.quiet && isatty(STDERR_FILENO))
    say("wrote " + quote(flags.page));
  // Print the text too, unless standard output received the page.
  if (!flags.ir)
    dropIr(first);
  if (place.descriptor != STDOUT_FILENO)
    TRANSOM_TRY(second ? printComparison(first, *second, flags, common)
                       : printExplanation(first, flags, common));
  TRANSOM_TRY(checkVerification(first));
  return second ? checkVerification(*second) : Result<void>();
}

static Result<void> writeGraphs(const ExplainFlags &flags) {
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(flags.modelExplorer));
  TRANSOM_ASSIGN(Explanation explanation,
                 getWholeExplanation(flags.compile.options, {true, nullptr}));
  TRANSOM_ASSIGN(std::string graphs, toModelExplorer(explanation));
  TRANSOM_TRY(file.append(graphs));
  return file.commit();
}

/// Rejects flags without effect in this combination.
static Result<void> checkFlags(const ExplainFlags &flags, bool json) {
  if (!flags.compares() &&
      (!flags.otherProfile.empty() || !flags.otherAssembly.empty()))
    return usageError("'--other-profile' and '--other-assembly' belong to a "
                      "second compile; name OTHER or '--other-flags'");
  if (json && !flags.compares() && flags.page.empty() && !flags.profile.empty())
    return usageError("'--json' of one compile has no times; leave out "
                      "'--profile'");
  if (!flags.modelExplorer.empty() && (flags.compares() || !flags.page.empty()))
    return usageError("'--model-explorer' writes the graphs of one compile, "
                      "and no page");
  if (!flags.verify)
    return {};
  if (isExplanation(flags.compile.options.model) || isExplanation(flags.other))
    return usageError("'--verify' compiles the model again; name it in place "
                      "of what was explained before");
  if (flags.compares() && flags.page.empty())
    return usageError("'--verify' belongs to one compile or to a page; leave "
                      "out OTHER and '--other-flags', or add '--html'");
  if (!flags.modelExplorer.empty())
    return usageError("'--model-explorer' writes graphs without verdicts; "
                      "leave out '--verify'");
  return {};
}

static Result<void> runExplain(ExplainFlags &flags, const CommonFlags &common) {
  TRANSOM_TRY(finishOptions(flags.compile));
  TRANSOM_TRY(checkFlags(flags, common.json));
  TRANSOM_TRY(flags.check.apply(flags.passes, common.quiet));
  if (!flags.modelExplorer.empty())
    return writeGraphs(flags);
  if (!flags.page.empty())
    return writePageFile(flags, common);
  if (flags.compares())
    return runComparison(flags, common);
  TRANSOM_ASSIGN(
      Explanation explanation,
      getExplanation(flags.compile.options, {flags.ir, flags.getCheck()}));
  TRANSOM_TRY(printExplanation(explanation, flags, common));
  if (explanation.failure)
    return toError(*explanation.failure);
  return checkVerification(explanation);
}

/// Adds the flags for the page and other files.
static void addFileFlags(CLI::App &app, ExplainFlags &flags) {
  CLI::Option *page =
      app.add_option("--html", flags.page,
                     "also write a page with the IR after each pass, graphs, "
                     "the memory plan and the operations")
          ->type_name("FILE");
  app.add_option("--profile", flags.profile,
                 "show the times that 'bench --profile --json' printed")
      ->type_name("FILE");
  app.add_option("--other-profile", flags.otherProfile, "the times of OTHER")
      ->type_name("FILE");
  app.add_option("--assembly", flags.assembly,
                 "with --html: show the code that 'compile --emit asm' wrote")
      ->type_name("FILE")
      ->needs(page);
  app.add_option("--other-assembly", flags.otherAssembly,
                 "with --html: the code of OTHER")
      ->type_name("FILE")
      ->needs(page);
  app.add_option("--model-explorer", flags.modelExplorer,
                 "write the graph after each pass for Google's Model Explorer")
      ->type_name("FILE");
}

void tools::addExplain(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "explain",
                 "what the compiler does with a model, and why not more");
  auto flags = std::make_shared<ExplainFlags>();
  // Models to explain and to compare with.
  command.app
      ->add_option("MODEL", flags->compile.options.model,
                   "a model folder, a config.json without weights, a GGUF "
                   "file, a graph.json, or a file that --json wrote")
      ->required();
  command.app->add_option("OTHER", flags->other, "compare MODEL with this one");
  command.app
      ->add_option("--other-flags", flags->otherFlags,
                   "compare with OTHER, or MODEL again, compiled with these "
                   "flags too, such as '--dtype bf16'")
      ->type_name("FLAGS");
  // Optional parts of the explanation, then shared compile flags.
  command.app->add_flag("--ir", flags->ir,
                        "with --json: also the IR after each pass");
  CLI::Option *verify = command.app->add_flag(
      "--verify", flags->verify,
      "check the passes and the machine code: a verdict on each pass, and the "
      "error of each operation");
  addPassCheckFlags(*command.app, flags->check, verify);
  addFileFlags(*command.app, *flags);
  addCompileFlags(*command.app, flags->compile);
  command.run = [flags](const CommonFlags &common) {
    return runExplain(*flags, common);
  };
}
