// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing and reading modules.
#include "compiler/driver/ModuleText.h"
#include "compiler/driver/Diagnostics.h"
#include "dialects/kern/Kern.h"
#include "mlir/Parser/Parser.h"
#include "runtime/base/File.h"
#include "llvm/Support/FileSystem.h"
#include <unistd.h>

using namespace mlir;
using namespace transom;

std::string transom::printModule(ModuleOp module) {
  kern::KernDialect::useTypeAliases(module.getContext());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo());
  stream << "\n";
  return stream.str();
}

Result<OwningOpRef<ModuleOp>> transom::readModule(MLIRContext &context,
                                                  const std::string &text) {
  DiagnosticCollector diagnostics(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return diagnostics.error(Status::Internal, "the module does not read back");
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

std::string transom::writeReproducer(const std::string &text) {
  llvm::SmallString<128> path;
  int fd = -1;
  if (llvm::sys::fs::createTemporaryFile("transom-reproducer", "mlir", fd,
                                         path))
    return {};
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/true);
  stream << text;
  return path.str().str();
}

Result<void> transom::writeTextFile(const std::string &path,
                                    const std::string &text) {
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path));
  if (Result<void> written = file.append(text); !written)
    return written;
  return file.commit();
}
