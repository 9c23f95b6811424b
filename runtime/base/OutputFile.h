// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output files. A file appears under its name only once it is complete; until
// then an older file stays in place. Pipes, terminals and devices are written
// directly. All project outputs are written by this class.
#pragma once
#include "runtime/base/PartialFile.h"
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace transom {

struct OutputOptions {
  /// `writeAt`, `resize` and `readAt` are called, not only `append`. A pipe or
  /// device then gets the bytes at `commit`.
  bool randomAccess = false;
  /// Continue an earlier process's `F.partial`, or a copy of F. Implies
  /// `randomAccess`.
  bool resume = false;
};

/// An output. A regular file is written to `F.partial`, which is locked,
/// renamed by `commit`, and removed on errors, SIGINT, SIGTERM and SIGHUP; a
/// killed process leaves it to the next output with that name. Links are
/// followed. An existing file keeps its permissions. Move-only; destroying an
/// output without commit discards it.
class OutputFile {
public:
  /// Begins an output; its folder exists. `Unavailable` if it cannot be written
  /// or another process writes it, `Usage` if it is also an input or another
  /// output (FileUse).
  static Result<OutputFile> create(const std::string &path,
                                   const OutputOptions &options = {});
  /// True for a pipe, terminal or device, or a descriptor such as /dev/stdout.
  static bool isStream(const std::string &path);
  OutputFile() = default;
  OutputFile(OutputFile &&other) noexcept { *this = std::move(other); }
  OutputFile &operator=(OutputFile &&other) noexcept;
  ~OutputFile();

  /// Appends after the bytes appended before.
  Result<void> append(std::string_view bytes);
  /// Writes at an offset; does not change where `append` writes.
  Result<void> writeAt(uint64_t offset, std::string_view bytes);
  /// Sets the length; added space is a hole that reads as zeros.
  Result<void> resize(uint64_t size);
  /// Drops the bytes after the first `size`; `append` continues there.
  Result<void> resumeAt(uint64_t size);
  /// Reads up to `size` bytes at an offset; fewer at the end of the file.
  Result<size_t> readAt(uint64_t offset, char *bytes, size_t size) const;
  /// File size in bytes; initially nonzero if the file is resumed.
  Result<uint64_t> getSize() const;
  /// Sets the file's permission bits.
  Result<void> setMode(unsigned bits);
  /// Flushes the bytes to disk.
  Result<void> sync();
  /// Leaves `F.partial` to a later `resume` if there is no commit.
  void keepPartial() { partial.keep(); }
  /// Does every step of `commit` that can fail, except for the rename.
  Result<void> prepare();
  /// Flushes to disk and renames the file, replacing an older one.
  Result<void> commit();

  bool isOpen() const { return fd >= 0; }
  /// Bytes appended so far.
  uint64_t appended() const { return position; }
  const std::string &path() const { return target; }
  /// Path of `F.partial`, empty for a stream.
  const std::string &partialPath() const { return partial.path(); }

private:
  /// Output to `Null` is discarded; a `Spool` is copied to its stream.
  enum class Kind { File, Stream, Spool, Null };
  Result<void> openFile(const OutputPath &place, const OutputOptions &options);
  Result<void> openStream(const OutputPath &place, bool randomAccess);
  Result<void> copyExisting(const OutputPath &place);
  Result<void> copySpool();
  void close();

  std::string target;
  Kind kind = Kind::File;
  PartialFile partial;     ///< for a regular file
  int fd = -1;             ///< written to; owned except for a `File`
  int stream = -1;         ///< receives the spool
  std::vector<FileId> ids; ///< in the record of FileUse
  uint64_t position = 0;
  bool prepared = false;
};

/// Writes a whole file.
Result<void> writeFile(const std::string &path, std::string_view bytes);

/// Command outputs that appear together: all are complete on disk before the
/// first is renamed.
class OutputSet {
public:
  /// When an output is renamed: results after the other files, so that a
  /// failure leaves the older result.
  enum class Order { Normal, Result };

  /// Begins an output. The pointer is valid until `commit`.
  Result<OutputFile *> create(const std::string &path,
                              const OutputOptions &options = {},
                              Order order = Order::Normal);
  /// Renames the normal files, then the results, in creation order.
  Result<void> commit();

private:
  std::vector<std::unique_ptr<OutputFile>> normal, results;
};

} // namespace transom
