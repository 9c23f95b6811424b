// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM has one handler per process for each kind of error. Guarded work
// replaces the fatal error handler while it runs.
#include "compiler/codegen/FatalErrors.h"
#include "runtime/base/File.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

using namespace transom;

static FatalErrorHandler fatalErrorHandler = nullptr;

[[noreturn]] static void endProcess(Status status, const char *message) {
  removeTemporaryOutputs();
  fatalErrorHandler(status, message);
  std::abort();
}

/// For `operator new`.
static void onExhaustedMemory() {
  endProcess(Status::Unavailable, "out of memory");
}

/// For malloc in LLVM.
static void onBadAlloc(void *, const char *, bool) { onExhaustedMemory(); }

/// For malloc in MLIR, which writes to the null pointer returned for an
/// operation. Other faults end the process as they would without a handler.
static void onFault(int signal, siginfo_t *fault, void *) {
  constexpr uintptr_t largestOperation = 1 << 16;
  if (errno == ENOMEM &&
      reinterpret_cast<uintptr_t>(fault->si_addr) < largestOperation)
    onExhaustedMemory();
  std::signal(signal, SIG_DFL);
}

static void handleFaults() {
  struct sigaction current;
  if (sigaction(SIGSEGV, nullptr, &current) != 0 ||
      current.sa_handler != SIG_DFL)
    return;
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

/// Returns the first line of an LLVM message.
static std::string getFirstLine(const char *reason) {
  return llvm::StringRef(reason).split('\n').first.str();
}

static void onFatalError(void *, const char *reason, bool) {
  const Error error = describeFatalError(getFirstLine(reason));
  endProcess(error.status, error.message.c_str());
}

void transom::setFatalErrorHandler(FatalErrorHandler handler) {
  fatalErrorHandler = handler;
  std::set_new_handler(onExhaustedMemory);
  llvm::remove_bad_alloc_error_handler();
  llvm::install_bad_alloc_error_handler(onBadAlloc);
  llvm::remove_fatal_error_handler();
  llvm::install_fatal_error_handler(onFatalError);
  handleFaults();
}

Error transom::describeFatalError(const std::string &reason) {
  llvm::StringRef text(reason);
  // raw_fd_ostream reports a failed write in its destructor.
  if (text.consume_front("IO failure on output stream: "))
    return unavailable("cannot write a temporary file: " + text.lower());
  return internalError("LLVM fails: " + reason);
}

/// Ends guarded work in this thread and stores LLVM's message. A thread without
/// a guard ends the process.
static void leaveGuard(void *text, const char *reason, bool) {
  *static_cast<std::string *>(text) = getFirstLine(reason);
  if (const llvm::CrashRecoveryContext *guard =
          llvm::CrashRecoveryContext::GetCurrent())
    const_cast<llvm::CrashRecoveryContext *>(guard)->HandleExit(1);
  if (fatalErrorHandler)
    onFatalError(nullptr, reason, false);
}

bool transom::runGuarded(llvm::function_ref<void()> work, std::string &reason) {
  // Handlers belong to the process; guarded work may contain another guard.
  static std::recursive_mutex mutex;
  static int depth = 0;
  std::lock_guard<std::recursive_mutex> lock(mutex);
  // An outer guard has its own handler.
  if (depth++ == 0) {
    llvm::CrashRecoveryContext::Enable();
    llvm::remove_fatal_error_handler();
    llvm::install_fatal_error_handler(leaveGuard, &reason);
  }
  llvm::CrashRecoveryContext guard;
  errno = 0;
  const bool returned = guard.RunSafely(work);
  // Here the guard has caught the fault raised by onFault().
  if (!returned && errno == ENOMEM && fatalErrorHandler)
    onExhaustedMemory();
  if (--depth == 0) {
    llvm::remove_fatal_error_handler();
    if (fatalErrorHandler)
      llvm::install_fatal_error_handler(onFatalError);
    llvm::CrashRecoveryContext::Disable();
  }
  return returned;
}
