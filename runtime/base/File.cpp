// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapped files, paths and system errors.
#include "runtime/base/File.h"
#include "runtime/base/FileUse.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace transom {
namespace {

/// A regular file opened for reading; closed at scope exit.
class ReadHandle {
public:
  static Result<ReadHandle> open(const std::string &path) {
    // Without O_NONBLOCK opening a pipe would wait for a writer.
    int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      return systemError("cannot open", path, errno);
    ReadHandle handle(fd);
    struct stat info;
    if (fstat(fd, &info) != 0)
      return systemError("cannot read", path, errno);
    if (!S_ISREG(info.st_mode))
      return unavailable("cannot read '" + utf8::printable(path, 400) +
                         "': expected a regular file, got " +
                         kindName(info.st_mode));
    TRANSOM_TRY(FileUse::addInput(info, path));
    handle.length = static_cast<uint64_t>(info.st_size);
    return handle;
  }
  ReadHandle(ReadHandle &&other) noexcept
      : fd(std::exchange(other.fd, -1)), length(other.length) {}
  ~ReadHandle() {
    if (fd >= 0)
      ::close(fd);
  }
  int descriptor() const { return fd; }
  uint64_t size() const { return length; }

private:
  explicit ReadHandle(int fd) : fd(fd) {}
  static const char *kindName(mode_t mode) {
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : "a device";
  }
  int fd;
  uint64_t length = 0;
};

uint64_t pageSize() {
  static const uint64_t size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

} // namespace

Error systemError(const std::string &action, const std::string &path,
                  int errorNumber) {
  std::string reason = std::strerror(errorNumber);
  if (!reason.empty() && reason[0] >= 'A' && reason[0] <= 'Z')
    reason[0] = static_cast<char>(reason[0] - 'A' + 'a');
  return unavailable(action + " '" + utf8::printable(path, 400) +
                     "': " + reason);
}

Result<MappedFile> MappedFile::open(const std::string &path) {
  TRANSOM_ASSIGN(ReadHandle handle, ReadHandle::open(path));
  MappedFile file;
  file.name = path;
  if (handle.size() != 0) {
    void *base = mmap(nullptr, handle.size(), PROT_READ, MAP_PRIVATE,
                      handle.descriptor(), 0);
    if (base == MAP_FAILED)
      return systemError("cannot map", path, errno);
    file.base = base;
    file.length = handle.size();
  }
  return file;
}

MappedFile::MappedFile(MappedFile &&other) noexcept
    : name(std::move(other.name)), base(std::exchange(other.base, nullptr)),
      length(std::exchange(other.length, 0)) {}

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(base, other.base);
  std::swap(length, other.length);
  return *this;
}

MappedFile::~MappedFile() {
  if (base)
    munmap(base, length);
}

void MappedFile::release(uint64_t begin, uint64_t end) const {
  uint64_t page = pageSize();
  end = std::min(end, length);
  begin = begin + (page - begin % page) % page;
  if (end != length) // the last page may be released as a whole
    end -= end % page;
  if (begin < end)
    madvise(static_cast<char *>(base) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::willNeed(uint64_t begin, uint64_t end) const {
  uint64_t page = pageSize();
  end = std::min(end, length);
  begin -= begin % page;
  if (begin < end)
    madvise(static_cast<char *>(base) + begin, end - begin, MADV_WILLNEED);
}

Result<std::string> readSmallFile(const std::string &path, uint64_t cap) {
  TRANSOM_ASSIGN(ReadHandle handle, ReadHandle::open(path));
  auto tooLong = [&](uint64_t size) {
    return rejected(utf8::printable(path, 400) + ": file of " +
                    std::to_string(size) + " bytes is over the limit of " +
                    std::to_string(cap));
  };
  if (handle.size() > cap)
    return tooLong(handle.size());
  // Files in /proc report size 0: read until the end.
  std::string contents(handle.size() + 1, '\0');
  size_t filled = 0;
  while (true) {
    ssize_t got = ::read(handle.descriptor(), &contents[filled],
                         contents.size() - filled);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("cannot read", path, errno);
    if (got == 0)
      break;
    filled += static_cast<size_t>(got);
    if (filled > cap)
      return tooLong(filled);
    if (filled == contents.size())
      contents.resize(contents.size() + 4096);
  }
  contents.resize(filled);
  return contents;
}

bool fileExists(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 || errno == EACCES;
}

bool isFolder(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::string joinPath(const std::string &folder, const std::string &name) {
  if (folder.empty())
    return name;
  return folder.back() == '/' ? folder + name : folder + "/" + name;
}

std::string getFileName(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

Result<void> checkPlainFileName(std::string_view name,
                                const std::string &what) {
  if (!name.empty() && name != "." && name != ".." &&
      name.find('/') == std::string_view::npos &&
      name.find('\0') == std::string_view::npos)
    return {};
  return rejected(what + " '" + utf8::printable(name) +
                  "' is not a plain file name of the model's folder");
}

} // namespace transom
