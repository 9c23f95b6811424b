// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes output with stdio.
#include "tools/commands/StandardStreams.h"
#include "runtime/base/FileUse.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

void tools::openStandardStreams() {
  // A file that is opened next would reuse a closed stream's number, and get
  // its data. The opposite access mode makes each access an error.
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  static FileUse use;
  FileUse::record(&use);
  std::optional<FileId> out;
  for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status;
    if (fstat(stream, &status) != 0 || !S_ISREG(status.st_mode) ||
        getFileId(status) == out)
      continue;
    out = getFileId(status);
    (void)FileUse::addOutput({*out},
                             stream == STDOUT_FILENO ? "stdout" : "stderr");
  }
}

static Error cannotWrite() {
  std::string reason = strerror(errno);
  if (!reason.empty())
    reason[0] = static_cast<char>(tolower(reason[0]));
  return unavailable("cannot write to stdout: " + reason);
}

static bool wasWritten = false;

Result<void> tools::writeOut(const std::string &data) {
  wasWritten |= !data.empty();
  if (fwrite(data.data(), 1, data.size(), stdout) != data.size())
    return cannotWrite();
  return {};
}

Result<void> tools::flushOut() {
  return fflush(stdout) == 0 ? Result<void>() : cannotWrite();
}

Result<void> tools::finishOut() {
  TRANSOM_TRY(flushOut());
  // Network file systems report a full disk only when a file is closed.
  const int copy = wasWritten ? dup(STDOUT_FILENO) : -1;
  if (wasWritten && (copy < 0 || close(copy) != 0))
    return cannotWrite();
  return {};
}

Result<void> tools::withFileConflict(Result<void> done) {
  const FileUse *use = FileUse::get();
  if (std::optional<Error> conflict = use ? use->getConflict() : std::nullopt)
    return *conflict;
  return done;
}
