// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that no function returns: memory or threads are exhausted, or an
// exception is not caught. The tool ends with one line and an exit code, as
// after any other error.
#pragma once
#include "runtime/base/Error.h"
#include <functional>

namespace transom::tools {

/// Prints one line and ends the process with the status as its exit code.
/// Allocates nothing and runs no destructors.
[[noreturn]] void endProcess(Status status, const char *message);

/// Ends the process in this way where an exception is not caught, in any
/// thread. Called before the static objects of the program are created.
void handleUncaughtExceptions();

/// Ends the process when `operator new` fails, from now on. LLVM is compiled
/// without exceptions, so none may pass through its functions.
void endWhenOutOfMemory();

/// Runs the body of main() and returns its exit code, or that of an exception.
int runProgram(const std::function<int()> &body);

} // namespace transom::tools
