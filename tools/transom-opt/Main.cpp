// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the project's dialects, passes and pipelines: reads a module,
// runs the requested passes, writes it. `--start-at` and `--stop-after` run a
// part of the `transom compile` pipeline.
#include "compiler/pipeline/PassRange.h"
#include "compiler/pipeline/Register.h"
#include "compiler/pipeline/ToolOutput.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

using namespace transom;
using llvm::LogicalResult;
using llvm::StringRef;
namespace cl = llvm::cl;

/// Frees an option name that LLVM's code generator uses without effect here.
static StringRef takeName(StringRef name) {
  if (cl::Option *other = cl::getRegisteredOptions().lookup(name))
    other->removeArgument();
  return name;
}

namespace {

/// Flags that run a part of the pipeline.
struct RangeFlags {
  cl::OptionCategory category{"Part of the pipeline of 'transom compile'"};
  cl::opt<std::string> startAt{
      takeName("start-at"), cl::value_desc("pass"), cl::cat(category),
      cl::desc("Run the pipeline from this pass on; of a pass that runs "
               "several times write which run, as in 'cse:2'")};
  cl::opt<std::string> stopAfter{
      takeName("stop-after"), cl::value_desc("pass"), cl::cat(category),
      cl::desc("Run the pipeline up to this pass, which runs too")};
  cl::list<std::string> disabled{
      takeName("disable-pass"), cl::value_desc("pass"), cl::cat(category),
      cl::desc("With these: leave a pass out (repeatable)")};
  cl::opt<std::string> backend{
      takeName("backend"), cl::init("native"), cl::cat(category),
      cl::desc("With these: what computes products, softmax and norms: native "
               "or onednn")};
  cl::opt<std::string> isa{takeName("isa"), cl::init("avx2"), cl::cat(category),
                           cl::desc("With these: the instruction set of the "
                                    "passes that lower")};

  bool areGiven() const {
    return startAt.getNumOccurrences() || stopAfter.getNumOccurrences();
  }

  /// Adds the passes that the flags select.
  Result<void> populate(mlir::OpPassManager &manager) const;
};

} // namespace

Result<void> RangeFlags::populate(mlir::OpPassManager &manager) const {
  const transom::PassInfo *first = nullptr, *last = nullptr;
  if (!startAt.empty()) {
    TRANSOM_ASSIGN(first, findPass(startAt));
  }
  if (!stopAfter.empty()) {
    TRANSOM_ASSIGN(last, findPass(stopAfter));
  }
  PipelineOptions options;
  options.disabled = {disabled.begin(), disabled.end()};
  TRANSOM_TRY(checkDisabledPasses(options.disabled));
  std::optional<Backend> parsed = parseBackend(backend);
  if (!parsed)
    return usageError("unknown backend '" + backend.getValue() +
                      "'; supported: native, onednn");
  options.backend = *parsed;
  options.isa = isa;
  return populateRange(manager, first, last, options);
}

static int fail(const Error &error) {
  llvm::WithColor::error(llvm::errs(), "transom-opt") << error.message << "\n";
  return static_cast<int>(error.status);
}

/// Runs the selected passes on one file. Returns the exit code.
static int run(const std::string &input, const std::string &output,
               const RangeFlags &flags, mlir::DialectRegistry &registry) {
  mlir::MlirOptMainConfig config =
      mlir::MlirOptMainConfig::createFromCLOptions();
  if (flags.areGiven()) {
    // Check the flags before a file is read.
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    mlir::PassManager passes(&context);
    if (auto done = flags.populate(passes); !done)
      return fail(done.error());
    config.setPassPipelineSetupFn([&flags](mlir::PassManager &manager) {
      return llvm::success(static_cast<bool>(flags.populate(manager)));
    });
  }

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file =
      mlir::openInputFile(input, &message);
  if (!file)
    return fail(unavailable(message));
  if (Result<void> added = addToolInput(input); !added)
    return fail(added.error());
  Result<ToolOutput> out = ToolOutput::create(output);
  if (!out)
    return fail(out.error());
  std::string text;
  llvm::raw_string_ostream stream(text);
  const LogicalResult done =
      mlir::MlirOptMain(stream, std::move(file), registry, config);
  // Print modules before a failed one, but replace no file.
  if (llvm::succeeded(done) || out->isStdout())
    if (Result<void> written = out->write(text); !written)
      return fail(written.error());
  return llvm::failed(done);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  registerTransomDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  mlir::registerStripDebugInfoPass();
  registerTransomPasses();
  RangeFlags flags;
  initializeTool("transom-opt");
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "the transom optimizer driver\n", registry);
  return run(input, output, flags, registry);
}
