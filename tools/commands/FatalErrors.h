// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that no function returns: exhausted memory or threads, and uncaught
// exceptions. The tool prints one line and ends with an exit code, as after any
// other error.
#pragma once
#include "runtime/base/Error.h"
#include <functional>

namespace transom::tools {

/// Prints one line and ends the process with the status as its exit code.
/// Allocates nothing and runs no destructors.
[[noreturn]] void endProcess(Status status, const char *message);

/// Ends the process in this way after an uncaught exception in any thread. Must
/// be called before the program's static objects are created.
void handleUncaughtExceptions();

/// Ends the process if `operator new` fails from now on. LLVM is compiled
/// without exceptions, so none may propagate through its functions.
void endWhenOutOfMemory();

/// Runs the body of main(). Returns its exit code, or one for an exception.
int runProgram(const std::function<int()> &body);

} // namespace transom::tools
