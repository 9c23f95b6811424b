// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's streams end the process if an error is pending in their destructor,
// also for `--help`; the fatal error handler then sets the right exit code.
#include "compiler/pipeline/ToolOutput.h"
#include "runtime/base/File.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

using namespace transom;

static void reportStreamError(void *program, const char *reason, bool) {
  llvm::StringRef rest(reason);
  if (!rest.consume_front("IO failure on output stream"))
    return; // LLVM reports it
  fprintf(stderr, "%s: error: cannot write to stdout%s\n",
          static_cast<const char *>(program), rest.str().c_str());
  _exit(static_cast<int>(Status::Unavailable));
}

void transom::initializeTool(const char *program) {
  static FileUse use;
  FileUse::record(&use);
  llvm::install_fatal_error_handler(reportStreamError,
                                    const_cast<char *>(program));
}

Result<void> transom::addToolInput(const std::string &path) {
  struct stat status;
  const bool exists = path == "-" ? fstat(STDIN_FILENO, &status) == 0
                                  : stat(path.c_str(), &status) == 0;
  return exists ? FileUse::addInput(status, path) : Result<void>();
}

Result<ToolOutput> ToolOutput::create(const std::string &path) {
  ToolOutput output;
  if (path != "-") {
    TRANSOM_ASSIGN(output.file, OutputFile::create(path));
  }
  return Result<ToolOutput>(std::move(output));
}

Result<void> ToolOutput::write(llvm::StringRef text) {
  if (!isStdout()) {
    TRANSOM_TRY(file.append({text.data(), text.size()}));
    return file.commit();
  }
  llvm::raw_fd_ostream &stream = llvm::outs();
  stream << text;
  stream.flush();
  if (!stream.has_error())
    return {};
  const std::error_code error = stream.error();
  stream.clear_error();
  return systemError("cannot write to", "stdout", error.value());
}
