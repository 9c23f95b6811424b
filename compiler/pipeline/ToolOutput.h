// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs for tools built on LLVM's command line, with the same
// rules as `transom`: no output replaces an input, a file appears when it is
// complete, and a full disk is exit code 6.
#pragma once
#include "mlir/Support/LLVM.h"
#include "runtime/base/OutputFile.h"

namespace transom {

/// Starts recording the tool's files. After this a failed LLVM write to stdout
/// ends the process with one line and exit code 6.
void initializeTool(const char *program);

/// Records an input; `-` is stdin. Missing files are reported by the reader.
Result<void> addToolInput(const std::string &path);

/// A tool output; `-` is stdout.
class ToolOutput {
public:
  static Result<ToolOutput> create(const std::string &path);
  /// Writes the text and completes the output.
  Result<void> write(llvm::StringRef text);
  bool isStdout() const { return !file.isOpen(); }

private:
  OutputFile file;
};

} // namespace transom
