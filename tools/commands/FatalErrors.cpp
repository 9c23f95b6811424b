// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nothing here allocates memory, since it may be exhausted. The C++ library
// reserves memory for exceptions.
#include "tools/commands/FatalErrors.h"
#include "runtime/base/File.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

/// True once `operator new` has failed.
static std::atomic<bool> isExhausted{false};

/// Prints an error without allocating memory; control characters become spaces.
static void printError(const char *message) {
  char line[600];
  int length = snprintf(line, sizeof line - 1, "transom: error: %s", message);
  length = std::min(length, static_cast<int>(sizeof line) - 2);
  for (int i = 0; i < length; ++i)
    if (static_cast<unsigned char>(line[i]) < ' ')
      line[i] = ' ';
  line[length++] = '\n';
  // There is no other way to report a write failure.
  if (write(STDERR_FILENO, line, static_cast<size_t>(length)) != length)
    return;
}

void tools::endProcess(Status status, const char *message) {
  // Several threads may fail at once; only one reports it.
  static std::atomic_flag isEnding = ATOMIC_FLAG_INIT;
  while (isEnding.test_and_set())
    pause();
  removeTemporaryOutputs();
  printError(message);
  _exit(static_cast<int>(status));
}

/// Calls report(status, message) for the exception that is being handled.
template <typename Report> static void describeException(Report report) {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    report(Status::Unavailable, "out of memory");
  } catch (const std::system_error &error) {
    const bool isThread =
        error.code() == std::errc::resource_unavailable_try_again;
    report(Status::Unavailable,
           isThread ? "cannot start a thread: resource temporarily unavailable"
                    : error.what());
  } catch (const std::exception &error) {
    char message[500];
    snprintf(message, sizeof message, "an unexpected exception: %s",
             error.what());
    report(Status::Internal, message);
  }
}

static void onTerminate() {
  if (std::current_exception())
    describeException(endProcess);
  // The reserve for exceptions may be exhausted, too.
  if (isExhausted)
    endProcess(Status::Unavailable, "out of memory");
  endProcess(Status::Internal, "the program ended unexpectedly");
}

void tools::handleUncaughtExceptions() {
  std::set_terminate(onTerminate);
  std::set_new_handler([] {
    isExhausted = true;
    throw std::bad_alloc();
  });
}

void tools::endWhenOutOfMemory() {
  std::set_new_handler(
      [] { endProcess(Status::Unavailable, "out of memory"); });
}

int tools::runProgram(const std::function<int()> &body) {
  int code = 0;
  try {
    return body();
  } catch (const std::exception &) {
    describeException([&](Status status, const char *message) {
      printError(message);
      code = static_cast<int>(status);
    });
  }
  return code;
}
