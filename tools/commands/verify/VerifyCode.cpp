// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads the compile options from the manifest; the compiler recompiles the
// model and checks each dispatch that the host runs.
#include "tools/commands/verify/VerifyCode.h"
#include "runtime/artifact/Artifact.h"
#include "tools/commands/CompileFlags.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/verify/CodeReport.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

/// Returns an artifact's compile options, as far as they affect its kern
/// module. Manual edits are ignored.
static Result<CompileOptions> getOptions(const Manifest &manifest,
                                         const std::string &model,
                                         std::vector<std::string> &notes) {
  CompileFlags flags;
  flags.options.model = model;
  std::vector<std::string> words;
  for (const auto &[flag, value] : manifest.options) {
    if (flag == "load-pass-plugin")
      return unsupported("the artifact was compiled with a pass plug-in, '" +
                         value + "', which is not in it");
    if (flag == "calibrate")
      return unsupported("the artifact was compiled with '--calibrate " +
                         value +
                         "', and its weights cannot be made without these "
                         "texts; supported: artifacts without it");
    // The shortlists are tokenizer tables, which no code reads.
    if (flag.rfind("shortlist", 0) == 0) {
      flags.options.listedLogits = true;
      continue;
    }
    if (flag == "resume-from")
      notes.push_back("the artifact was compiled from an edited stage, " +
                      value + "; it is compared with the model itself");
    else if (flag != "debug-info")
      words.push_back("--" + flag + "=" + value);
  }
  CLI::App parser;
  addCompileFlags(parser, flags);
  try {
    std::reverse(words.begin(), words.end()); // CLI11 expects reverse order
    parser.parse(words);
  } catch (const CLI::ParseError &error) {
    const std::string what = error.what();
    return rejected("options in the manifest: " +
                    what.substr(0, what.find('\n')));
  }
  flags.options.disabledPasses = manifest.disabledPasses;
  TRANSOM_TRY(finishOptions(flags));
  return flags.options;
}

Result<void> tools::verifyCode(CodeFlags flags, const CommonFlags &common) {
  // Check the arguments.
  TRANSOM_TRY(checkModelArtifact(flags.artifact));
  if (flags.model.empty())
    return usageError(
        "'verify " + flags.artifact +
        "' needs the model folder, GGUF file or graph.json that it "
        "was compiled from: '--model'");
  TRANSOM_TRY(checkModelSource(flags.model));
  if (flags.options.lengths.empty())
    flags.options.lengths = getDefaultLengths();
  if (common.threads)
    flags.options.workers = common.threads;
  // Load the artifact, for each instruction set that runs here.
  TRANSOM_ASSIGN(ArtifactFile file, ArtifactFile::open(flags.artifact));
  TRANSOM_TRY(file.checkMachine());
  const Manifest &manifest = file.manifest();
  CodeReport report;
  TRANSOM_ASSIGN(CompileOptions options,
                 getOptions(manifest, flags.model, report.notes));
  TRANSOM_ASSIGN(RunnableModels models,
                 RunnableModels::load(flags.artifact, manifest));
  // Recompile the model, and compare while the code runs.
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  MachineStepper stepper(models, manifest, flags.options);
  TRANSOM_ASSIGN(report.verification,
                 compiler->verifyArtifact(options, stepper));
  // Print the report.
  report.path = flags.artifact;
  report.name = manifest.name;
  report.dtype = manifest.dtype;
  report.backend = manifest.backend;
  report.seed = flags.options.seed;
  report.lengths = flags.options.lengths;
  report.lacking = models.lacking;
  TRANSOM_TRY(
      writeOut(common.json ? report.toJson() : escapeLines(report.toText())));
  TRANSOM_TRY(flushOut());
  return report.check();
}
