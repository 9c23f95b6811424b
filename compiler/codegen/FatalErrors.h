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

/// Ends the process: gets the status and a message of one line, and does not
/// return. It must not allocate memory.
using FatalErrorHandler = void (*)(Status status, const char *message);

/// Sets the function that ends the process. It is called when `operator new`
/// fails in any library of the process (`Unavailable`), and on fatal errors of
/// LLVM outside of guarded work. Temporary output files have been removed then.
void setFatalErrorHandler(FatalErrorHandler handler);

/// Runs work that may crash or end in a fatal error of LLVM. Returns false if
/// it did; `reason` is then LLVM's message, if there is one.
bool runGuarded(llvm::function_ref<void()> work, std::string &reason);

/// The error for a fatal error of LLVM: `Unavailable` if a stream could not be
/// written, else `Internal`.
Error describeFatalError(const std::string &reason);

} // namespace transom
