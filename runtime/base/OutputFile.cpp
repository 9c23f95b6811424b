// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output that is complete or absent. The unnamed file gets the temporary name
// only for the instant between link and rename; a temporary file that another
// process still writes is told from an abandoned one by its lock.
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

namespace transom {
namespace {

constexpr int guardCount = 16;
constexpr size_t longestPath = 4096;

/// Temporary files to remove on a signal. A slot is free, being filled, or
/// armed; the handler reads armed slots only.
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

/// Takes a signal over unless the program handles or ignores it itself.
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
    handleIfDefault(SIGINT);
    handleIfDefault(SIGTERM);
    return i;
  }
  return -1;
}

void disarmGuard(int slot) {
  if (slot >= 0)
    guards[slot].state = GuardState::Free;
}

std::string getFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Removes a temporary file that no process writes any more. False when one
/// does.
bool removeLeftOver(const std::string &temporary) {
  int fd =
      ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    if (errno == ENOENT)
      return true;
    return ::unlink(temporary.c_str()) == 0 || errno == ENOENT;
  }
  bool free = flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (free)
    ::unlink(temporary.c_str());
  ::close(fd);
  return free;
}

Result<void> writeAll(int fd, std::string_view bytes, uint64_t offset,
                      const std::string &path) {
  while (!bytes.empty()) {
    ssize_t done =
        ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return systemError("cannot write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(done));
    offset += static_cast<uint64_t>(done);
  }
  return {};
}

} // namespace

void removeTemporaryOutputs() {
  for (Guard &guard : guards)
    if (guard.state.load() == GuardState::Armed)
      ::unlink(guard.path);
}

Result<OutputFile> OutputFile::create(const std::string &path, Mode mode) {
  std::string name = getFileName(path), folder = getFolder(path);
  if (name.empty() || name == "." || name == "..")
    return unavailable("cannot write '" + utf8::printable(path, 400) +
                       "': not a file name");
  // Refuse devices, folders and the like.
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
      !S_ISLNK(info.st_mode))
    return unavailable("cannot write '" + utf8::printable(path, 400) +
                       "': it exists and is not a regular file");
  // Remove the temporary file of a process that ended; refuse a live one.
  OutputFile file;
  file.target = path;
  file.temporary = joinPath(folder, "." + name + ".transom-tmp");
  if (!removeLeftOver(file.temporary))
    return unavailable("cannot write '" + utf8::printable(path, 400) +
                       "': another process is writing it");
  // Prefer an unnamed file; some file systems have none.
  if (mode == Mode::Automatic) {
    file.fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (file.fd < 0 && errno != EOPNOTSUPP && errno != EISDIR &&
        errno != EINVAL && errno != ENOENT)
      return systemError("cannot write", path, errno);
  }
  // Else create the temporary file, which signals remove.
  if (file.fd < 0) {
    file.fd = ::open(file.temporary.c_str(),
                     O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (file.fd < 0)
      return systemError("cannot write", path, errno);
    file.named = true;
    file.guard = armGuard(file.temporary);
  }
  flock(file.fd, LOCK_EX | LOCK_NB);
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : target(std::move(other.target)), temporary(std::move(other.temporary)),
      fd(std::exchange(other.fd, -1)), guard(std::exchange(other.guard, -1)),
      named(std::exchange(other.named, false)), position(other.position) {}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(target, other.target);
  std::swap(temporary, other.temporary);
  std::swap(fd, other.fd);
  std::swap(guard, other.guard);
  std::swap(named, other.named);
  std::swap(position, other.position);
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (named)
    ::unlink(temporary.c_str());
  named = false;
  disarmGuard(std::exchange(guard, -1));
  if (fd >= 0)
    ::close(std::exchange(fd, -1));
}

Result<void> OutputFile::append(std::string_view bytes) {
  Result<void> done = writeAll(fd, bytes, position, target);
  if (done)
    position += bytes.size();
  return done;
}

Result<void> OutputFile::writeAt(uint64_t offset, std::string_view bytes) {
  return writeAll(fd, bytes, offset, target);
}

Result<void> OutputFile::resize(uint64_t size) {
  if (size > static_cast<uint64_t>(INT64_MAX) ||
      ftruncate(fd, static_cast<off_t>(size)) != 0)
    return systemError("cannot write", target,
                       size > static_cast<uint64_t>(INT64_MAX) ? EFBIG : errno);
  return {};
}

Result<void> OutputFile::setMode(unsigned bits) {
  if (fchmod(fd, static_cast<mode_t>(bits)) != 0)
    return systemError("cannot set the mode of", target, errno);
  return {};
}

/// Gives the unnamed file its temporary name. An existing one belongs to
/// a process between link and rename, or to one that died there.
Result<void> OutputFile::linkTemporary() {
  std::string source = "/proc/self/fd/" + std::to_string(fd);
  int reason = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, temporary.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      named = true;
      return {};
    }
    reason = errno;
    if (reason != EEXIST)
      break;
    if (!removeLeftOver(temporary))
      ::usleep(2000);
  }
  return systemError("cannot write", target, reason);
}

Result<void> OutputFile::commit() {
  if (fd < 0)
    return internalError("output '" + target + "' is not open");
  if (::fsync(fd) != 0)
    return systemError("cannot write", target, errno);
  if (!named)
    if (Result<void> linked = linkTemporary(); !linked)
      return linked;
  if (::rename(temporary.c_str(), target.c_str()) != 0)
    return systemError("cannot write", target, errno);
  named = false;
  discard();
  // The name itself; a file system without this keeps the file all the same.
  int folder =
      ::open(getFolder(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

} // namespace transom
