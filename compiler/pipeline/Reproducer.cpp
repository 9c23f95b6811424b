// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR stores a reproducer's pipeline as a resource in the module text.
#include "compiler/pipeline/Reproducer.h"
#include "dialects/common/FirstError.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace transom {

Result<Reproducer> readReproducer(MLIRContext &context,
                                  const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return unavailable("cannot read '" + path +
                       "': " + file.getError().message());
  FirstError error(context);
  ParserConfig config(&context);
  PassReproducerOptions options;
  options.attachResourceParser(config);
  Reproducer reproducer;
  reproducer.module =
      parseSourceString<ModuleOp>((*file)->getBuffer(), config, path);
  if (!reproducer.module)
    return rejected(path + ": not a module: " + error.text);

  // The options pass their pipeline to a pass manager only.
  PassManager manager(&context);
  if (failed(options.apply(manager)))
    return rejected(path + ": " + error.text);
  if (manager.empty())
    return rejected(path + ": the module has no pipeline; expected a file that "
                           "a failing pass has left, with 'mlir_reproducer'");
  llvm::raw_string_ostream stream(reproducer.pipeline);
  manager.printAsTextualPipeline(stream);
  return Result<Reproducer>(std::move(reproducer));
}

std::string printReproducer(ModuleOp module, StringRef pipeline) {
  AsmState state(module, OpPrintingFlags().enableDebugInfo());
  state.attachResourcePrinter("mlir_reproducer",
                              [&](Operation *, AsmResourceBuilder &builder) {
                                builder.buildString("pipeline", pipeline);
                                builder.buildBool("disable_threading", true);
                                builder.buildBool("verify_each", true);
                              });
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, state);
  stream << "\n";
  return stream.str();
}

std::string getFailure(ModuleOp module, StringRef pipeline) {
  OwningOpRef<ModuleOp> copy(module.clone());
  FirstError error(*module.getContext());
  FailureOr<OpPassManager> passes = parsePassPipeline(pipeline);
  PassManager manager(module.getContext());
  if (failed(passes))
    return error.text.empty() ? "the pipeline does not parse" : error.text;
  static_cast<OpPassManager &>(manager) = std::move(*passes);
  if (succeeded(manager.run(*copy)))
    return {};
  return error.text.empty() ? "the pipeline fails without an error"
                            : error.text;
}

} // namespace transom
