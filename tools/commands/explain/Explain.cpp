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
#include "tools/commands/explain/ExplainText.h"

using namespace transom;
using namespace transom::tools;

namespace {

struct ExplainFlags {
  CompileFlags compile;
  std::string other, otherFlags;
  bool ir = false;
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

static Result<void> runComparison(const ExplainFlags &flags,
                                  const CommonFlags &common) {
  CompileFlags other = flags.compile;
  if (!flags.other.empty())
    other.options.model = flags.other;
  TRANSOM_TRY(parseOtherFlags(flags.otherFlags, other));
  TRANSOM_ASSIGN(Explanation first,
                 getExplanation(flags.compile.options, false));
  TRANSOM_ASSIGN(Explanation second, getExplanation(other.options, false));
  const Comparison comparison = compare(first, second);
  return writeOut(common.json
                      ? toJson(comparison)
                      : escapeLines(toText(comparison, common.verbose)));
}

static Result<void> runExplain(ExplainFlags &flags, const CommonFlags &common) {
  TRANSOM_TRY(finishOptions(flags.compile));
  if (!flags.other.empty() || !flags.otherFlags.empty())
    return runComparison(flags, common);
  TRANSOM_ASSIGN(Explanation explanation,
                 getExplanation(flags.compile.options, flags.ir));
  return writeOut(common.json
                      ? toJson(explanation)
                      : escapeLines(toText(explanation, common.verbose)));
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
  addCompileFlags(*command.app, flags->compile);
  command.run = [flags](const CommonFlags &common) {
    return runExplain(*flags, common);
  };
}
