// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output that is complete or absent. Streams that need random access are
// spooled to an unnamed temporary file.
#include "runtime/base/OutputFile.h"
#include "runtime/base/File.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace transom;

/// Writes all bytes, at the descriptor's own position if `offset` is negative.
static Result<void> writeAll(int fd, std::string_view bytes, off_t offset,
                             const std::string &path) {
  while (!bytes.empty()) {
    const ssize_t done = offset < 0
                             ? ::write(fd, bytes.data(), bytes.size())
                             : ::pwrite(fd, bytes.data(), bytes.size(), offset);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      return systemError("cannot write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(done));
    if (offset >= 0)
      offset += done;
  }
  return {};
}

/// Calls `use` on a file's bytes from the beginning.
template <typename Use>
static Result<void> forEachBlock(int fd, const std::string &path, Use use) {
  std::string block(size_t(1) << 20, '\0');
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("cannot read", path, errno);
    if (got == 0)
      return {};
    TRANSOM_TRY(use({block.data(), static_cast<size_t>(got)}, at));
    at += got;
  }
}

/// An unnamed temporary file.
static int openSpool() {
  const char *folder = getenv("TMPDIR");
  std::string name =
      joinPath(folder && *folder ? folder : "/tmp", "transom-XXXXXX");
  const int fd = mkostemp(name.data(), O_CLOEXEC);
  if (fd >= 0)
    ::unlink(name.c_str());
  return fd;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

bool OutputFile::isStream(const std::string &path) {
  Result<OutputPath> place = resolveOutputPath(path);
  return place && place->kind != OutputPath::Kind::File;
}

/// Copies the existing file for continuation.
Result<void> OutputFile::copyExisting(const OutputPath &place) {
  const int from = ::open(place.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0)
    return errno == ENOENT ? Result<void>()
                           : systemError("cannot read", target, errno);
  Result<void> done =
      forEachBlock(from, target, [&](std::string_view bytes, off_t at) {
        return writeAll(fd, bytes, at, target);
      });
  ::close(from);
  return done;
}

Result<void> OutputFile::openFile(const OutputPath &place,
                                  const OutputOptions &options) {
  // Check the existing file first: an input is refused before anything is
  // created.
  if (place.existing)
    TRANSOM_TRY(FileUse::checkOutput({*place.existing}, target));
  TRANSOM_ASSIGN(partial, PartialFile::open(place, options.resume));
  fd = partial.descriptor();
  struct stat status;
  if (fstat(fd, &status) != 0)
    return systemError("cannot write", target, errno);
  std::vector<FileId> used = {*getFileId(status)};
  if (place.existing)
    used.push_back(*place.existing);
  TRANSOM_TRY(FileUse::addOutput(used, target));
  ids = std::move(used);
  return options.resume && !partial.isResumed() ? copyExisting(place)
                                                : Result<void>();
}

Result<void> OutputFile::openStream(const OutputPath &place,
                                    bool randomAccess) {
  kind = place.isNull ? Kind::Null : Kind::Stream;
  // The record already has stdout and stderr.
  if (place.existing && place.descriptor != STDOUT_FILENO &&
      place.descriptor != STDERR_FILENO) {
    TRANSOM_TRY(FileUse::addOutput({*place.existing}, target));
    ids = {*place.existing};
  }
  do
    fd = place.descriptor >= 0
             ? fcntl(place.descriptor, F_DUPFD_CLOEXEC, 3)
             : ::open(place.path.c_str(),
                      O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
  while (fd < 0 && errno == EINTR);
  if (fd < 0)
    return systemError("cannot write", target, errno);
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
    return systemError("cannot write", target, EBADF);
  if (!randomAccess || kind == Kind::Null)
    return {};
  kind = Kind::Spool;
  stream = std::exchange(fd, openSpool());
  return fd >= 0
             ? Result<void>()
             : systemError("cannot create a temporary file for", target, errno);
}

Result<OutputFile> OutputFile::create(const std::string &path,
                                      const OutputOptions &options) {
  TRANSOM_ASSIGN(OutputPath place, resolveOutputPath(path));
  OutputFile file;
  file.target = path;
  if (place.kind == OutputPath::Kind::File)
    TRANSOM_TRY(file.openFile(place, options));
  else
    TRANSOM_TRY(file.openStream(place, options.randomAccess || options.resume));
  return Result<OutputFile>(std::move(file));
}

OutputFile &OutputFile::operator=(OutputFile &&other) noexcept {
  std::swap(target, other.target);
  std::swap(kind, other.kind);
  std::swap(partial, other.partial);
  std::swap(fd, other.fd);
  std::swap(stream, other.stream);
  std::swap(ids, other.ids);
  std::swap(position, other.position);
  std::swap(prepared, other.prepared);
  return *this;
}

OutputFile::~OutputFile() { close(); }

void OutputFile::close() {
  if (kind != Kind::File && fd >= 0)
    ::close(fd);
  if (stream >= 0)
    ::close(stream);
  fd = stream = -1;
  partial = PartialFile();
  FileUse::removeOutput(std::exchange(ids, {}));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Result<void> OutputFile::append(std::string_view bytes) {
  const bool direct = kind == Kind::Stream || kind == Kind::Null;
  Result<void> done =
      writeAll(fd, bytes, direct ? -1 : static_cast<off_t>(position), target);
  if (done)
    position += bytes.size();
  return done;
}

Result<void> OutputFile::writeAt(uint64_t offset, std::string_view bytes) {
  if (kind == Kind::Null)
    return {};
  if (kind == Kind::Stream)
    return internalError("output '" + target + "' is written out of order");
  return writeAll(fd, bytes, static_cast<off_t>(offset), target);
}

Result<void> OutputFile::resize(uint64_t size) {
  if (kind == Kind::Null)
    return {};
  if (kind == Kind::Stream)
    return internalError("output '" + target + "' is written out of order");
  if (size > static_cast<uint64_t>(INT64_MAX) ||
      ftruncate(fd, static_cast<off_t>(size)) != 0)
    return systemError("cannot write", target,
                       size > static_cast<uint64_t>(INT64_MAX) ? EFBIG : errno);
  return {};
}

Result<void> OutputFile::resumeAt(uint64_t size) {
  TRANSOM_TRY(resize(size));
  position = size;
  return {};
}

Result<size_t> OutputFile::readAt(uint64_t offset, char *bytes,
                                  size_t size) const {
  size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::pread(fd, bytes + filled, size - filled,
                                static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("cannot read", target, errno);
    if (got == 0)
      break;
    filled += static_cast<size_t>(got);
  }
  return filled;
}

Result<uint64_t> OutputFile::getSize() const {
  struct stat status;
  if (fstat(fd, &status) != 0)
    return systemError("cannot read", target, errno);
  return static_cast<uint64_t>(status.st_size);
}

Result<void> OutputFile::setMode(unsigned bits) {
  if (kind == Kind::File && fchmod(fd, static_cast<mode_t>(bits)) != 0)
    return systemError("cannot set the mode of", target, errno);
  return {};
}

Result<void> OutputFile::sync() {
  return kind == Kind::File ? syncFile(fd, target) : Result<void>();
}

//===----------------------------------------------------------------------===//
// Completing
//===----------------------------------------------------------------------===//

Result<void> OutputFile::copySpool() {
  return forEachBlock(fd, target, [&](std::string_view bytes, off_t) {
    return writeAll(stream, bytes, -1, target);
  });
}

Result<void> OutputFile::prepare() {
  if (fd < 0)
    return internalError("output '" + target + "' is not open");
  if (FileUse *use = FileUse::get())
    if (std::optional<Error> conflict = use->getConflict())
      return *conflict;
  if (kind == Kind::Spool)
    return {};
  TRANSOM_TRY(syncFile(fd, target));
  // Closing a copy flushes in the same way as closing the file (network file
  // systems); the lock is held until the file has its name.
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0 || (::close(copy) != 0 && errno != EINTR))
    return systemError("cannot write", target, errno);
  prepared = true;
  return {};
}

Result<void> OutputFile::commit() {
  if (!prepared)
    TRANSOM_TRY(prepare());
  if (kind == Kind::Spool) {
    TRANSOM_TRY(copySpool());
    TRANSOM_TRY(syncFile(stream, target));
    if (::close(std::exchange(stream, -1)) != 0 && errno != EINTR)
      return systemError("cannot write", target, errno);
  }
  if (kind == Kind::File)
    TRANSOM_TRY(partial.rename());
  close();
  return {};
}

Result<void> transom::writeFile(const std::string &path,
                                std::string_view bytes) {
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path));
  TRANSOM_TRY(file.append(bytes));
  return file.commit();
}

//===----------------------------------------------------------------------===//
// OutputSet
//===----------------------------------------------------------------------===//

Result<OutputFile *> OutputSet::create(const std::string &path,
                                       const OutputOptions &options,
                                       Order order) {
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path, options));
  auto &files = order == Order::Normal ? normal : results;
  files.push_back(std::make_unique<OutputFile>(std::move(file)));
  return files.back().get();
}

Result<void> OutputSet::commit() {
  for (const auto *files : {&normal, &results})
    for (const auto &file : *files)
      TRANSOM_TRY(file->prepare());
  for (const auto *files : {&normal, &results})
    for (const auto &file : *files)
      TRANSOM_TRY(file->commit());
  normal.clear();
  results.clear();
  return {};
}
