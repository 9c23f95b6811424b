// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// stdin, stdout and stderr of the tool: data goes to stdout, and a write that
// fails is an error also for `--help`.
#pragma once
#include "runtime/base/Error.h"
#include <string>

namespace transom::tools {

/// Begins to record the files of the command (FileUse), with those that stdout
/// and stderr lead to as outputs. Closed streams are opened so that no file
/// takes their numbers; reading or writing them stays an error.
void openStandardStreams();

/// Writes data to stdout.
Result<void> writeOut(const std::string &data);
/// Flushes stdout.
Result<void> flushOut();
/// Flushes stdout at the end of the command, as closing it would.
Result<void> finishOut();

/// The result of a command, or the refusal of a file that is both an input and
/// an output, which a reader may have reported as something else.
Result<void> withFileConflict(Result<void> done);

} // namespace transom::tools
