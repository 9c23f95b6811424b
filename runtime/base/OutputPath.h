// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target that an output path resolves to: a file in a folder, a device or
// pipe, or a descriptor of this process such as /dev/stdout.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/base/FileUse.h"
#include <optional>
#include <string>

namespace transom {

struct OutputPath {
  enum class Kind {
    File,       ///< a regular file, or nothing yet
    Stream,     ///< a device, pipe or terminal, which is written directly
    Descriptor, ///< an open descriptor
  };
  Kind kind = Kind::File;
  std::string path; ///< for a file; links are resolved
  int descriptor = -1;
  bool isNull = false;            ///< /dev/null
  std::optional<FileId> existing; ///< existing file
  /// Permission bits and owner for an existing regular file.
  std::optional<unsigned> mode;
  unsigned owner = 0, group = 0;
};

/// Resolves an output path. `Unavailable` for folders, for link loops, and for
/// links that others have put into a shared folder.
Result<OutputPath> resolveOutputPath(const std::string &path);

/// The folder part, `.` for a plain name.
std::string getFolderName(const std::string &path);

} // namespace transom
