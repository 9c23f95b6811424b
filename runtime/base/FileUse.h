// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a command reads and writes, identified by device and inode, so
// that no output replaces an input. Only programs that call `record` have a
// record; in a library nothing is recorded and nothing is refused.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct stat;

namespace transom {

/// A file's device and inode.
using FileId = std::pair<uint64_t, uint64_t>;

/// The id of a regular file, pipe or disk. Nullopt for terminals and other
/// devices without contents, which may be read and written at the same time.
std::optional<FileId> getFileId(const struct stat &status);

/// A record of inputs and outputs. Thread-safe.
class FileUse {
public:
  /// Makes `use` the record for this copy of the library; null ends recording.
  static void record(FileUse *use);
  /// The current record, or null.
  static FileUse *get();

  /// Adds an opened input to the current record. `Usage` if the file is an
  /// output.
  static Result<void> addInput(const struct stat &status,
                               const std::string &path);
  static Result<void> addInput(int descriptor, const std::string &path);
  /// `Usage` if one of `ids` is an input or another output.
  static Result<void> checkOutput(const std::vector<FileId> &ids,
                                  const std::string &path);
  /// Checks and adds an output: the file that it replaces and the new file.
  static Result<void> addOutput(const std::vector<FileId> &ids,
                                const std::string &path);
  /// Removes an output that was completed or discarded.
  static void removeOutput(const std::vector<FileId> &ids);

  /// The first refusal. A command fails with this error even where a reader
  /// reports the refused input as a different error.
  std::optional<Error> getConflict() const;

private:
  Result<void> refuse(const std::string &text);
  Result<void> check(const std::vector<FileId> &ids, const std::string &path);

  mutable std::mutex mutex;
  std::map<FileId, std::string> inputs, outputs; ///< and their paths
  std::optional<Error> conflict;
};

} // namespace transom
