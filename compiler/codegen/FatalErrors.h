// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors that LLVM and lld cannot return: memory is exhausted, or a stream
// cannot be written. LLVM is compiled without exceptions, so unwinding through
// its functions would skip their cleanup. The process ends instead.
#pragma once
#include "runtime/base/Error.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace transom {

/// Ends the process with the status and a one-line message; does not return. It
/// must not allocate memory.
using FatalErrorHandler = void (*)(Status status, const char *message);

/// Sets the function that ends the process. It is called when `operator new`
/// fails in any library in the process (`Unavailable`), and on fatal LLVM
/// errors outside guarded work. Temporary output files have been removed before
/// the call.
void setFatalErrorHandler(FatalErrorHandler handler);

/// Runs work that may crash or raise a fatal LLVM error. Returns false if it
/// did; `reason` is then LLVM's message, or empty.
bool runGuarded(llvm::function_ref<void()> work, std::string &reason);

/// Converts a fatal LLVM error: `Unavailable` if a stream could not be written,
/// else `Internal`.
Error describeFatalError(const std::string &reason);

} // namespace transom
