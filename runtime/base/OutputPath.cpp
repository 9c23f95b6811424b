// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Links are followed here rather than by the kernel, since the temporary file
// has to be in the same folder as the link target.
#include "runtime/base/OutputPath.h"
#include "runtime/base/File.h"
#include "runtime/base/Utf8.h"
#include <cerrno>
#include <cstdlib>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

using namespace transom;

static constexpr int kMaxLinks = 40;
static constexpr long kProcMagic = 0x9fa0;

std::string transom::getFolderName(const std::string &path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// True for an entry in /proc, whose links name open files.
static bool isInProc(const std::string &path) {
  struct statfs system;
  return statfs(getFolderName(path).c_str(), &system) == 0 &&
         static_cast<long>(system.f_type) == kProcMagic;
}

/// The descriptor that an entry of /proc/self/fd names, or -1.
static int getOwnDescriptor(const std::string &path) {
  struct stat folder, own;
  if (stat(getFolderName(path).c_str(), &folder) != 0 ||
      stat("/proc/self/fd", &own) != 0 || folder.st_dev != own.st_dev ||
      folder.st_ino != own.st_ino)
    return -1;
  const std::string name = getFileName(path);
  char *end = nullptr;
  const long number = strtol(name.c_str(), &end, 10);
  return *end || name.empty() || number < 0 || number > 1 << 20
             ? -1
             : static_cast<int>(number);
}

/// Refuses a link in a sticky folder that belongs neither to us nor to the
/// folder's owner, as the kernel does (protected_symlinks).
static bool isForeignLink(const std::string &path, const struct stat &link) {
  struct stat folder;
  return stat(getFolderName(path).c_str(), &folder) == 0 &&
         (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH) &&
         link.st_uid != geteuid() && link.st_uid != folder.st_uid;
}

/// Follows links up to a file or a /proc link.
static Result<std::string> followLinks(const std::string &path) {
  std::string at = path;
  for (int count = 0; count != kMaxLinks; ++count) {
    struct stat status;
    if (lstat(at.c_str(), &status) != 0 || !S_ISLNK(status.st_mode) ||
        isInProc(at))
      return at;
    if (isForeignLink(at, status))
      return systemError("cannot write", path, EACCES);
    char target[4096];
    const ssize_t length = readlink(at.c_str(), target, sizeof target);
    if (length <= 0 || length == sizeof target)
      return systemError("cannot write", path, length < 0 ? errno : ELOOP);
    const std::string text(target, static_cast<size_t>(length));
    at = text[0] == '/' ? text : joinPath(getFolderName(at), text);
  }
  return systemError("cannot write", path, ELOOP);
}

Result<OutputPath> transom::resolveOutputPath(const std::string &path) {
  const std::string name = getFileName(path);
  if (name.empty() || name == "." || name == "..")
    return unavailable("cannot write '" + utf8::printable(path, 400) +
                       "': not a file name");
  OutputPath result;
  TRANSOM_ASSIGN(result.path, followLinks(path));
  if (isInProc(result.path))
    result.descriptor = getOwnDescriptor(result.path);

  // A path that does not exist yet becomes a file.
  struct stat status;
  if (stat(result.path.c_str(), &status) != 0) {
    if (errno == ENOENT && !isInProc(result.path))
      return result;
    return systemError("cannot write", path, errno);
  }
  if (S_ISDIR(status.st_mode))
    return systemError("cannot write", path, EISDIR);
  result.existing = getFileId(status);
  result.isNull = S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
  if (result.descriptor >= 0)
    result.kind = OutputPath::Kind::Descriptor;
  else if (!S_ISREG(status.st_mode) || isInProc(result.path))
    result.kind = OutputPath::Kind::Stream;
  if (S_ISREG(status.st_mode))
    result.mode = status.st_mode & 07777;
  result.owner = status.st_uid;
  result.group = status.st_gid;
  return result;
}
