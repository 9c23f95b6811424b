// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files: read-only mappings whose pages can be released, whole small files, and
// paths. Output files are in OutputFile.h.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace transom {

/// A regular file mapped read-only. Links are followed. Move-only.
/// No other process may truncate the file while it is mapped.
class MappedFile {
public:
  /// Maps `path`; `Unavailable` if it is missing, unreadable or not a regular
  /// file.
  static Result<MappedFile> open(const std::string &path);
  MappedFile() = default;
  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  ~MappedFile();

  const std::string &path() const { return name; }
  uint64_t size() const { return length; }
  std::string_view bytes() const {
    return {static_cast<const char *>(base), static_cast<size_t>(length)};
  }
  /// Releases the pages that are entirely inside [begin, end); reading them
  /// maps them again.
  void release(uint64_t begin, uint64_t end) const;
  void release() const { release(0, length); }
  /// Tells the kernel that [begin, end) is about to be read.
  void willNeed(uint64_t begin, uint64_t end) const;

private:
  std::string name;
  void *base = nullptr;
  uint64_t length = 0;
};

/// Reads a regular file with at most `cap` bytes. `Unavailable` if it cannot be
/// read, `Rejected` if it is longer.
Result<std::string> readSmallFile(const std::string &path, uint64_t cap);

/// True if `path` exists, or if this process may not look it up: opening it
/// then returns the error.
bool fileExists(const std::string &path);
/// True if `path` is a folder.
bool isFolder(const std::string &path);
/// `folder` and `name` joined with one slash.
std::string joinPath(const std::string &folder, const std::string &name);
/// Returns the part after the last slash.
std::string getFileName(const std::string &path);

/// Rejects a string that is not a plain file name in a folder: empty, `.`,
/// `..`, or with a slash or a NUL byte. `what` describes the name in the error.
Result<void> checkPlainFileName(std::string_view name, const std::string &what);

/// `unavailable` with `action 'path': reason` for an errno.
Error systemError(const std::string &action, const std::string &path,
                  int errorNumber);

/// Removes temporary files of unfinished outputs, for a process that is about
/// to end. Allocates nothing; safe in signal handlers.
void removeTemporaryOutputs();

} // namespace transom
