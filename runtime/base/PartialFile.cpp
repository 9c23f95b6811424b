// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lock holder may remove the file. A lock counts only while the path still
// leads to the locked file, since its holder may have renamed it.
#include "runtime/base/PartialFile.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace transom;

namespace {

constexpr int guardCount = 64;
constexpr size_t longestPath = 4096;

/// Files to remove on a signal. A slot is free, being filled, or armed; the
/// handler reads armed slots only.
enum class GuardState { Free, Filling, Armed };
struct Guard {
  std::atomic<GuardState> state{GuardState::Free};
  char path[longestPath];
};
Guard guards[guardCount];

void removeAndDie(int signal) {
  removeTemporaryOutputs();
  // The handler was reset on entry (SA_RESETHAND): this ends the process.
  ::raise(signal);
}

/// Installs the handler unless the program handles or ignores the signal
/// itself.
void handleIfDefault(int signal) {
  struct sigaction current;
  if (sigaction(signal, nullptr, &current) != 0 ||
      (current.sa_flags & SA_SIGINFO) || current.sa_handler != SIG_DFL)
    return;
  struct sigaction action = {};
  action.sa_handler = removeAndDie;
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

int armGuard(const std::string &path) {
  if (path.size() >= longestPath)
    return -1;
  for (int i = 0; i < guardCount; ++i) {
    GuardState expected = GuardState::Free;
    if (!guards[i].state.compare_exchange_strong(expected, GuardState::Filling))
      continue;
    std::memcpy(guards[i].path, path.c_str(), path.size() + 1);
    guards[i].state = GuardState::Armed;
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      handleIfDefault(signal);
    return i;
  }
  return -1;
}

void disarmGuard(int slot) {
  if (slot >= 0)
    guards[slot].state = GuardState::Free;
}

Error isBusy(const std::string &target, const std::string &partial) {
  return unavailable("cannot write '" + utf8::printable(target, 400) +
                     "': another process is writing it and holds the lock on "
                     "'" +
                     utf8::printable(partial, 400) + "'");
}

} // namespace

void transom::removeTemporaryOutputs() {
  for (Guard &guard : guards)
    if (guard.state.load() == GuardState::Armed)
      ::unlink(guard.path);
}

Result<void> transom::syncFile(int descriptor, const std::string &path) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS ||
      errno == ENOTSUP)
    return {};
  return systemError("cannot write", path, errno);
}

bool PartialFile::isCurrent() const {
  struct stat opened, named;
  return fstat(fd, &opened) == 0 && lstat(name.c_str(), &named) == 0 &&
         getFileId(opened) == getFileId(named);
}

/// Opens and locks the file. False if another process renamed or removed it
/// meanwhile.
Result<bool> PartialFile::tryOpen(const std::string &output, bool resume) {
  constexpr int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const bool isNew =
      (fd = ::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | flags, 0666)) >= 0;
  if (!isNew && errno != EEXIST)
    return systemError("cannot write", output, errno);
  if (!isNew)
    fd = ::open(name.c_str(), (resume ? O_RDWR : O_RDONLY) | flags);
  // Remove a link, which has no contents of its own.
  if (fd < 0 && errno == ELOOP)
    return ::unlink(name.c_str()) == 0 || errno == ENOENT
               ? Result<bool>(false)
               : systemError("cannot write", name, errno);
  if (fd < 0)
    return errno == ENOENT ? Result<bool>(false)
                           : systemError("cannot write", name, errno);
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
    return unavailable("cannot write '" + utf8::printable(name, 400) +
                       "': it exists and is not a regular file");
  // On file systems without locks, write without one.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    TRANSOM_TRY(FileUse::checkOutput({*getFileId(status)}, output));
    return isBusy(output, name);
  }
  if (!isCurrent())
    return false;
  if (isNew || resume) {
    resumed = !isNew;
    return true;
  }
  // Discard the file that a killed process left, unless it is an input.
  TRANSOM_TRY(FileUse::checkOutput({*getFileId(status)}, output));
  if (::unlink(name.c_str()) != 0)
    return systemError("cannot write", name, errno);
  return false;
}

Result<PartialFile> PartialFile::open(const OutputPath &target, bool resume) {
  constexpr int maxAttempts = 100;
  PartialFile file;
  file.target = target.path;
  file.name = target.path + ".partial";
  for (int attempt = 0; attempt != maxAttempts; ++attempt) {
    Result<bool> opened = file.tryOpen(target.path, resume);
    if (!opened || !*opened)
      if (file.fd >= 0)
        ::close(std::exchange(file.fd, -1));
    if (!opened)
      return opened.takeError();
    if (!*opened)
      continue;
    file.removed = file.resumed;
    if (!file.resumed)
      file.guard = armGuard(file.name);
    // The result has the permissions and, where possible, the owner of the
    // file that it replaces.
    if (target.mode) {
      (void)(fchown(file.fd, target.owner, target.group) == 0);
      if (fchmod(file.fd, *target.mode & 0777) != 0)
        return systemError("cannot set the mode of", file.name, errno);
    }
    return Result<PartialFile>(std::move(file));
  }
  return isBusy(target.path, file.name);
}

PartialFile &PartialFile::operator=(PartialFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(target, other.target);
  std::swap(fd, other.fd);
  std::swap(guard, other.guard);
  std::swap(removed, other.removed);
  std::swap(resumed, other.resumed);
  return *this;
}

PartialFile::~PartialFile() {
  if (!removed)
    ::unlink(name.c_str());
  disarmGuard(guard);
  if (fd >= 0)
    ::close(fd);
}

void PartialFile::keep() {
  removed = true;
  disarmGuard(std::exchange(guard, -1));
}

Result<void> PartialFile::rename() {
  if (::rename(name.c_str(), target.c_str()) != 0)
    return systemError("cannot write", target, errno);
  keep();
  // Flush the new name; without permission to read the folder this is skipped.
  const int folder =
      ::open(getFolderName(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return {};
  Result<void> done = syncFile(folder, target);
  ::close(folder);
  return done;
}
