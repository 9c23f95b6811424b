// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output files. A file appears under its name when it is complete, and replaces
// an older one only then. Pipes, terminals and devices are written directly.
// All outputs of the project are written by this class.
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
  /// Go on with what an earlier process left: `F.partial`, or a copy of F.
  /// Implies `randomAccess`.
  bool resume = false;
};

/// An output. A regular file is written to `F.partial`, which is locked,
/// renamed by `commit`, and removed on errors, SIGINT, SIGTERM and SIGHUP; a
/// killed process leaves it to the next output of that name. Links are
/// followed. An existing file keeps its permissions. Move-only; destroying an
/// output without commit discards it.
class OutputFile {
public:
  /// Begins an output; its folder exists. `Unavailable` if it cannot be
  /// written or another process writes it, `Usage` if it is also an input or
  /// another output of the command (FileUse).
  static Result<OutputFile> create(const std::string &path,
                                   const OutputOptions &options = {});
  /// True for a pipe, terminal or device, or a descriptor such as /dev/stdout.
  static bool isStream(const std::string &path);
  OutputFile() = default;
  OutputFile(OutputFile &&other) noexcept { *this = std::move(other); }
  OutputFile &operator=(OutputFile &&other) noexcept;
  ~OutputFile();

  /// Appends at the end of the bytes appended before.
  Result<void> append(std::string_view bytes);
  /// Writes at an offset; does not change where `append` writes.
  Result<void> writeAt(uint64_t offset, std::string_view bytes);
  /// Sets the length; new room is a hole of zeros.
  Result<void> resize(uint64_t size);
  /// Drops the bytes after the first `size`; `append` continues there.
  Result<void> resumeAt(uint64_t size);
  /// Reads up to `size` bytes at an offset; fewer at the end of the file.
  Result<size_t> readAt(uint64_t offset, char *bytes, size_t size) const;
  /// Bytes of the file, other than 0 at first if it is resumed.
  Result<uint64_t> getSize() const;
  /// Sets the permission bits of the file.
  Result<void> setMode(unsigned bits);
  /// Flushes the bytes to disk.
  Result<void> sync();
  /// Leaves `F.partial` to a later `resume` if there is no commit.
  void keepPartial() { partial.keep(); }
  /// Does what can fail in `commit` except for the renaming.
  Result<void> prepare();
  /// Flushes to disk and gives the file its name, over an older one.
  Result<void> commit();

  bool isOpen() const { return fd >= 0; }
  /// Bytes appended so far.
  uint64_t appended() const { return position; }
  const std::string &path() const { return target; }
  /// Path of `F.partial`, empty for a stream.
  const std::string &partialPath() const { return partial.path(); }

private:
  /// Nothing that is written to `Null` is stored; a `Spool` is copied to its
  /// stream.
  enum class Kind { File, Stream, Spool, Null };
  Result<void> openFile(const OutputPath &place, const OutputOptions &options);
  Result<void> openStream(const OutputPath &place, bool randomAccess);
  Result<void> copyExisting(const OutputPath &place);
  Result<void> copySpool();
  void close();

  std::string target;
  Kind kind = Kind::File;
  PartialFile partial;     ///< of a file
  int fd = -1;             ///< that is written; owned except for a file's
  int stream = -1;         ///< that gets the spool
  std::vector<FileId> ids; ///< in the record of FileUse
  uint64_t position = 0;
  bool prepared = false;
};

/// Writes a whole file.
Result<void> writeFile(const std::string &path, std::string_view bytes);

/// The outputs of a command that appear together: all of them are complete on
/// disk before the first one is renamed.
class OutputSet {
public:
  /// When an output is renamed: results after the other files, so that a
  /// failure leaves the older result.
  enum class Order { Normal, Result };

  /// Begins an output. The pointer is valid until `commit`.
  Result<OutputFile *> create(const std::string &path,
                              const OutputOptions &options = {},
                              Order order = Order::Normal);
  /// Renames the normal files, then the results, in the order of creation.
  Result<void> commit();

private:
  std::vector<std::unique_ptr<OutputFile>> normal, results;
};

} // namespace transom
