// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom explain: what the compiler does with a model and why, pass by pass.
#include "compiler/explain/ExplanationJson.h"
#include "runtime/base/File.h"
#include "tools/commands/CompileFlags.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/explain/Comparison.h"
#include "tools/commands/explain/ExplainPage.h"
#include "tools/commands/explain/ExplainText.h"

using namespace transom;
using namespace transom::tools;

namespace {

struct ExplainFlags {
  CompileFlags compile;
  std::string other, otherFlags;
  bool ir = false;
  /// Files: the page to write, and the profiles and the assembly that it shows;
  /// empty: none.
  std::string page, profile, otherProfile, assembly;

  bool compares() const { return !other.empty() || !otherFlags.empty(); }
};

} // namespace

/// True for a file that `explain --json` wrote.
static bool isExplanation(const std::string &path) {
  if (isFolder(path) || !fileExists(path))
    return false;
  Result<JsonDocument> document = parseJsonFile(path);
  return document && document->root().find("format") &&
         document->root().find("passes");
}

/// Compiles a model, or reads what was explained before.
static Result<Explanation> getExplanation(const CompileOptions &options,
                                          bool ir) {
  if (isExplanation(options.model)) {
    TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(options.model));
    return parseExplanation(document);
  }
  TRANSOM_TRY(checkModelSource(options.model));
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  return compiler->explainModel({options, ir});
}

/// Lays the flags of `--other-flags` over those of the first compile.
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

/// The second of two explanations.
static Result<Explanation> getOther(const ExplainFlags &flags, bool ir) {
  CompileFlags other = flags.compile;
  if (!flags.other.empty())
    other.options.model = flags.other;
  TRANSOM_TRY(parseOtherFlags(flags.otherFlags, other));
  return getExplanation(other.options, ir);
}

static Result<void> runComparison(const ExplainFlags &flags,
                                  const CommonFlags &common) {
  TRANSOM_ASSIGN(Explanation first,
                 getExplanation(flags.compile.options, false));
  TRANSOM_ASSIGN(Explanation second, getOther(flags, false));
  const Comparison comparison = compare(first, second);
  return writeOut(common.json
                      ? toJson(comparison)
                      : escapeLines(toText(comparison, common.verbose)));
}

/// The text of a file; empty where no file is named.
static Result<std::string> readText(const std::string &path) {
  if (path.empty())
    return std::string();
  TRANSOM_ASSIGN(MappedFile file, MappedFile::open(path));
  return std::string(file.bytes());
}

static Result<void> writePageFile(const ExplainFlags &flags) {
  std::vector<ShownCompilation> shown(flags.compares() ? 2 : 1);
  TRANSOM_ASSIGN(Explanation first,
                 getExplanation(flags.compile.options, true));
  shown.front().explanation = toJson(first);
  TRANSOM_ASSIGN(shown.front().profile, readText(flags.profile));
  TRANSOM_ASSIGN(shown.front().assembly, readText(flags.assembly));
  if (flags.compares()) {
    TRANSOM_ASSIGN(Explanation second, getOther(flags, true));
    shown.back().explanation = toJson(second);
    TRANSOM_ASSIGN(shown.back().profile, readText(flags.otherProfile));
  }
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(flags.page));
  TRANSOM_TRY(writeExplainPage(
      shown, [&](std::string_view bytes) { return file.append(bytes); }));
  return file.commit();
}

static Result<void> runExplain(ExplainFlags &flags, const CommonFlags &common) {
  TRANSOM_TRY(finishOptions(flags.compile));
  if (!flags.page.empty())
    return writePageFile(flags);
  if (flags.compares())
    return runComparison(flags, common);
  TRANSOM_ASSIGN(Explanation explanation,
                 getExplanation(flags.compile.options, flags.ir));
  return writeOut(common.json
                      ? toJson(explanation)
                      : escapeLines(toText(explanation, common.verbose)));
}

/// Flags of the page.
static void addPageFlags(CLI::App &app, ExplainFlags &flags) {
  CLI::Option *page =
      app.add_option("--html", flags.page,
                     "write a page with the IR after each pass, graphs, the "
                     "memory plan and the operations")
          ->type_name("FILE");
  app.add_option("--profile", flags.profile,
                 "with --html: show the times that 'bench --profile --json' "
                 "printed")
      ->type_name("FILE")
      ->needs(page);
  app.add_option("--other-profile", flags.otherProfile,
                 "with --html: the times of OTHER")
      ->type_name("FILE")
      ->needs(page);
  app.add_option("--assembly", flags.assembly,
                 "with --html: show the code that 'compile --emit asm' wrote")
      ->type_name("FILE")
      ->needs(page);
}

void tools::addExplain(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "explain",
                 "what the compiler does with a model, and why not more");
  auto flags = std::make_shared<ExplainFlags>();
  command.app
      ->add_option("MODEL", flags->compile.options.model,
                   "a model folder, a config.json without weights, a "
                   "graph.json, or a file that --json wrote")
      ->required();
  command.app->add_option("OTHER", flags->other, "compare MODEL with this one");
  command.app
      ->add_option("--other-flags", flags->otherFlags,
                   "compare with OTHER, or MODEL again, compiled with these "
                   "flags too, such as '--dtype bf16'")
      ->type_name("FLAGS");
  command.app->add_flag("--ir", flags->ir,
                        "with --json: also the IR after each pass");
  addPageFlags(*command.app, *flags);
  addCompileFlags(*command.app, flags->compile);
  command.run = [flags](const CommonFlags &common) {
    return runExplain(*flags, common);
  };
}
