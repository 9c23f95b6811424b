// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom verify: checks the passes in a compile, or the bits of a compiled
// model's results.
#include "compiler/verify/LayerErrors.h"
#include "compiler/verify/VerifyModel.h"
#include "tools/commands/Command.h"
#include "tools/commands/CompileFlags.h"
#include "tools/commands/Compiler.h"
#include "tools/commands/ModelPath.h"
#include "tools/commands/verify/BitsMatrix.h"
#include "tools/commands/verify/PassProgress.h"
#include "tools/commands/verify/VerifyCode.h"

using namespace transom;
using namespace transom::tools;

namespace {

struct VerifyFlags {
  std::string subject; ///< a model or an artifact
  bool bits = false;
  BitsMatrixOptions matrix;
  CompileFlags compile;
  VerifyOptions passes;
  PassCheckFlags check;
  ExpectOptions expect;
};

} // namespace

/// Checks the passes in a model's compile.
static Result<void> verifyPasses(VerifyFlags &flags,
                                 const CommonFlags &common) {
  TRANSOM_TRY(checkModelSource(flags.subject));
  flags.compile.options.model = flags.subject;
  TRANSOM_TRY(finishOptions(flags.compile));
  flags.passes.compile = flags.compile.options;
  TRANSOM_TRY(flags.check.apply(flags.passes, common.quiet));
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  TRANSOM_ASSIGN(Certificate certificate, compiler->verifyModel(flags.passes));
  TRANSOM_TRY(writeOut(common.json ? certificate.toJson()
                                   : escapeLines(certificate.toText())));
  TRANSOM_TRY(flushOut());
  return certificate.check();
}

/// Compares a model's layers with another library's results.
static Result<void> verifyLayers(VerifyFlags &flags,
                                 const CommonFlags &common) {
  TRANSOM_TRY(checkModelSource(flags.subject));
  flags.expect.model = flags.subject;
  TRANSOM_ASSIGN(const CompilerApi *compiler, openCompiler());
  TRANSOM_ASSIGN(LayerErrors errors, compiler->compareLayers(flags.expect));
  TRANSOM_TRY(
      writeOut(common.json ? errors.toJson() : escapeLines(errors.toText())));
  TRANSOM_TRY(flushOut());
  return errors.check();
}

/// Compares the bits of a compiled model's results.
static Result<void> verifyBits(const VerifyFlags &flags,
                               const CommonFlags &common) {
  BitsMatrixOptions options = flags.matrix;
  options.artifact = flags.subject;
  if (options.runs.lengths.empty())
    options.runs.lengths = {1, 2, 31, 33, 64, 257};
  if (common.threads)
    options.runs.maxThreads = common.threads;
  TRANSOM_ASSIGN(BitsReport report, runBitsMatrix(options));
  TRANSOM_TRY(writeOut(common.json ? report.toJson() : report.toText()));
  TRANSOM_TRY(flushOut());
  return report.check();
}

static Result<void> runVerify(VerifyFlags &flags, const CommonFlags &common) {
  if (isModelSource(flags.subject) && !flags.bits)
    return flags.expect.file.empty() ? verifyPasses(flags, common)
                                     : verifyLayers(flags, common);
  TRANSOM_TRY(checkModelArtifact(flags.subject));
  const BitsOptions &runs = flags.matrix.runs;
  if (!flags.bits)
    return verifyCode(
        {flags.subject, flags.matrix.model, {runs.lengths, runs.seed}}, common);
  return verifyBits(flags, common);
}

/// Adds flags for the pass check.
static void addPassFlags(CLI::App &app, VerifyFlags &flags) {
  app.add_option("--lanes", flags.passes.lanes,
                 "independent evaluations, 1 or 2: with 2 a result is proved "
                 "(default 1)")
      ->type_name("N")
      ->check(wholeNumber(1, 2));
  addPassCheckFlags(app, flags.check);
  app.add_option("--stages", flags.passes.stagesFolder,
                 "write the module of each stage and the certificate to a "
                 "folder, for transom-check")
      ->type_name("FOLDER");
  CLI::Option *expect =
      app.add_option("--expect", flags.expect.file,
                     "compare the results of modules with tensors of a "
                     "safetensors file, which tools/record-layers.py writes, "
                     "and check no pass")
          ->type_name("FILE");
  app.add_option("--tolerance", flags.expect.tolerance,
                 "with --expect: how far elements may be off, as a part of "
                 "the largest one (default 1e-4)")
      ->type_name("X")
      ->check(CLI::NonNegativeNumber)
      ->needs(expect);
  addCompileFlags(app, flags.compile);
}

/// Adds flags for the bit matrix.
static void addBitsFlags(CLI::App &app, VerifyFlags &flags) {
  app.add_flag("--bits", flags.bits,
               "run a compiled model in all ways that may not show in its "
               "results, and compare bits");
  BitsOptions &runs = flags.matrix.runs;
  app.add_option(
         "-s,--seq", runs.lengths,
         "lengths of sequences (default 1 to 14, 31 to 33, 255 to 257; with "
         "--bits 1,2,31,33,64,257)")
      ->type_name("N,N..")
      ->delimiter(',')
      ->check(wholeNumber(1, uint64_t(1) << 30));
  app.add_option("--seed", runs.seed, "seed of the random inputs (default 1)")
      ->type_name("N")
      ->check(wholeNumber(0, UINT32_MAX));
  app.add_option(
         "--model", flags.matrix.model,
         "the model folder, GGUF file or graph.json of a compiled model")
      ->type_name("FOLDER");
  app.add_option("--compare", flags.matrix.compare,
                 "another artifact of the same model, whose results should "
                 "have the same bits")
      ->type_name("SO");
}

void tools::addVerify(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(
      app, commands, "verify",
      "check that passes keep what a model computes, and compiled bits");
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App &verify = *command.app;
  verify.get_option("--threads")
      ->description("with --bits: most threads and workers to run with "
                    "(default 16)");
  verify
      .add_option("MODEL", flags->subject,
                  "a model folder, a config.json without weights, a GGUF file "
                  "or a graph.json: checks the passes; or a compiled model")
      ->required();
  addPassFlags(verify, *flags);
  addBitsFlags(verify, *flags);
  command.run = [flags](const CommonFlags &common) {
    return runVerify(*flags, common);
  };
}
