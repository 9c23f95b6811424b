// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tool's stdin, stdout and stderr: data goes to stdout, and a failed write
// is an error even for `--help`.
#pragma once
#include "runtime/base/Error.h"
#include <string>

namespace transom::tools {

/// Starts to record the command's files (FileUse), including stdout and
/// stderr as outputs. Opens closed streams so that no file takes their
/// numbers; using them remains an error.
void openStandardStreams();

/// Writes data to stdout.
Result<void> writeOut(const std::string &data);
/// Flushes stdout.
Result<void> flushOut();
/// Flushes stdout at the end of the command, with the errors of closing it.
Result<void> finishOut();

/// Returns the command's result, or an error for a file that is both an input
/// and an output, which a reader may have reported as something else.
Result<void> withFileConflict(Result<void> done);

} // namespace transom::tools
