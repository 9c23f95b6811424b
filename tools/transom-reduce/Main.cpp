// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom-reduce: shrinks a reproducer's module while its pipeline fails with
// the same error.
#include "compiler/pipeline/Register.h"
#include "compiler/pipeline/ToolOutput.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "mlir/Transforms/Passes.h"
#include "tools/transom-reduce/Reducer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace transom;
namespace cl = llvm::cl;

namespace {

struct Flags {
  cl::OptionCategory category{"transom-reduce"};
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::cat(category),
                             cl::desc("<reproducer>")};
  cl::opt<std::string> output{"o", cl::value_desc("file"), cl::init("-"),
                              cl::cat(category),
                              cl::desc("The smaller reproducer (default -)")};
  cl::list<std::string> plugins{
      "load-pass-plugin", cl::value_desc("library"), cl::cat(category),
      cl::desc("Load passes from a plug-in (repeatable)")};
};

} // namespace

static int fail(const Error &error) {
  llvm::WithColor::error(llvm::errs(), "transom-reduce")
      << error.message << "\n";
  return static_cast<int>(error.status);
}

static Result<void> reduce(MLIRContext &context, const Flags &flags) {
  TRANSOM_TRY(addToolInput(flags.input));
  TRANSOM_ASSIGN(ToolOutput out, ToolOutput::create(flags.output));
  TRANSOM_ASSIGN(Reproducer reproducer, readReproducer(context, flags.input));
  Reducer reducer(reproducer, [](size_t numOperations) {
    llvm::errs() << "transom-reduce: " << numOperations << " operations\n";
  });
  if (Result<void> done = reducer.run(); !done) {
    Error error = done.takeError();
    error.message = flags.input + ": " + error.message;
    return error;
  }
  return out.write(printReproducer(*reproducer.module, reproducer.pipeline));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Flags flags;
  initializeTool("transom-reduce");
  cl::HideUnrelatedOptions(flags.category);
  cl::ParseCommandLineOptions(argc, argv,
                              "makes the module of a reproducer smaller\n");
  registerCanonicalizerPass();
  registerCSEPass();
  registerTransomPasses();
  for (const std::string &path : flags.plugins) {
    llvm::Expected<PassPlugin> plugin = PassPlugin::load(path);
    if (!plugin)
      return fail(unavailable(llvm::toString(plugin.takeError())));
    plugin->registerPassRegistryCallbacks();
  }

  DialectRegistry registry;
  registerTransomDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  if (Result<void> done = reduce(context, flags); !done)
    return fail(done.error());
  return 0;
}
