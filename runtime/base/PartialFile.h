// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `F.partial`, the locked file that becomes F. Its lock tells a file that is
// being written from one that a killed process left.
#pragma once
#include "runtime/base/FileUse.h"
#include "runtime/base/OutputPath.h"
#include <string>

namespace transom {

/// Flushes a file to its device; pipes and devices that cannot do that are
/// flushed already.
Result<void> syncFile(int descriptor, const std::string &path);

class PartialFile {
public:
  /// Creates and locks the partial file of a path. One that a process left is
  /// replaced, or opened with its contents if `resume` is set. `Unavailable`
  /// if another process writes it, `Usage` if it is an input of the command.
  static Result<PartialFile> open(const OutputPath &target, bool resume);
  PartialFile() = default;
  PartialFile(PartialFile &&other) noexcept { *this = std::move(other); }
  PartialFile &operator=(PartialFile &&other) noexcept;
  /// Removes the file unless it was renamed or is persistent.
  ~PartialFile();

  int descriptor() const { return fd; }
  const std::string &path() const { return name; }
  /// True for a file that an earlier process left, opened with its contents.
  bool isResumed() const { return resumed; }
  /// Keeps the file if it is not renamed. A resumed file is kept at once.
  void keep();
  /// Gives the file its name, over an older one, and flushes the folder.
  Result<void> rename();

private:
  Result<bool> tryOpen(const std::string &target, bool resume);
  /// True if the path still leads to the open file.
  bool isCurrent() const;

  std::string name, target;
  int fd = -1;
  int guard = -1; ///< slot of the removal on signals
  bool removed = true, resumed = false;
};

} // namespace transom
