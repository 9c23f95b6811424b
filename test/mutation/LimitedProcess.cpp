// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A forked process that sends its text through a pipe.
#include "test/mutation/LimitedProcess.h"
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace transom::testing {

/// This process's address space in bytes.
static rlim_t getAddressSpace() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

static void limit(const ProcessLimits &limits) {
  auto set = [](auto resource, rlim_t value) {
    rlimit limit = {value, value};
    ::setrlimit(resource, &limit);
  };
  set(RLIMIT_AS, getAddressSpace() + (rlim_t(limits.mebibytes) << 20));
  set(RLIMIT_CPU, static_cast<rlim_t>(limits.seconds));
  set(RLIMIT_CORE, 0);
}

/// All bytes that the other end writes.
static std::string readAll(int descriptor) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(descriptor, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

/// An exception ends the process, since nothing else may catch it here.
[[noreturn]] static void runChild(const std::function<std::string()> &function,
                                  const ProcessLimits &limits,
                                  int descriptor) noexcept {
  limit(limits);
  std::string text = function();
  bool sent = ::write(descriptor, text.data(), text.size()) ==
              static_cast<ssize_t>(text.size());
  ::_exit(sent ? 0 : 1);
}

ProcessResult runLimited(const std::function<std::string()> &function,
                         const ProcessLimits &limits) {
  int ends[2];
  if (::pipe(ends) != 0)
    return {false, std::string("pipe: ") + std::strerror(errno)};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0)
    return {false, std::string("fork: ") + std::strerror(errno)};
  if (child == 0) {
    ::close(ends[0]);
    runChild(function, limits, ends[1]);
  }
  ::close(ends[1]);
  ProcessResult result = {true, readAll(ends[0])};
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    result = {false, std::string("signal: ") + ::strsignal(WTERMSIG(status))};
  else if (WEXITSTATUS(status) != 0)
    result = {false, "exit status " + std::to_string(WEXITSTATUS(status))};
  return result;
}

} // namespace transom::testing
