// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs are kept until the process ends: an output may be created after the
// input was read and closed.
#include "runtime/base/FileUse.h"
#include "runtime/base/Utf8.h"
#include <atomic>
#include <sys/stat.h>

using namespace transom;

static std::atomic<FileUse *> current{nullptr};

std::optional<FileId> transom::getFileId(const struct stat &status) {
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode) &&
      !S_ISBLK(status.st_mode))
    return std::nullopt;
  return FileId(status.st_dev, status.st_ino);
}

void FileUse::record(FileUse *use) { current = use; }

FileUse *FileUse::get() { return current; }

/// Whether a recorded path still leads to its file. The system reuses the inode
/// number of a removed file, such as a temporary artifact. Standard streams,
/// whose names have no folder, and descriptors in /proc have no path of their
/// own.
static bool isCurrent(const FileId &id, const std::string &path) {
  if (path.find('/') == std::string::npos || path.rfind("/proc/", 0) == 0)
    return true;
  struct stat status;
  return stat(path.c_str(), &status) == 0 && getFileId(status) == id;
}

static std::string quote(const std::string &path) {
  return "'" + utf8::printable(path, 400) + "'";
}

Result<void> FileUse::refuse(const std::string &text) {
  Error error = usageError(text);
  if (!conflict)
    conflict = error;
  return error;
}

Result<void> FileUse::addInput(const struct stat &status,
                               const std::string &path) {
  FileUse *use = get();
  const std::optional<FileId> id = getFileId(status);
  if (!use || !id)
    return {};
  std::lock_guard<std::mutex> lock(use->mutex);
  if (auto found = use->outputs.find(*id); found != use->outputs.end())
    return use->refuse("input " + quote(path) + " is also the output " +
                       quote(found->second) + "; write to another file");
  const auto [entry, isNew] = use->inputs.emplace(*id, path);
  if (!isNew && !isCurrent(*id, entry->second))
    entry->second = path;
  return {};
}

Result<void> FileUse::addInput(int descriptor, const std::string &path) {
  struct stat status;
  return get() && fstat(descriptor, &status) == 0 ? addInput(status, path)
                                                  : Result<void>();
}

Result<void> FileUse::check(const std::vector<FileId> &ids,
                            const std::string &path) {
  for (const FileId &id : ids) {
    if (auto found = inputs.find(id);
        found != inputs.end() && isCurrent(id, found->second))
      return refuse("output " + quote(path) + " is also the input " +
                    quote(found->second) + "; write to another file");
    if (auto found = outputs.find(id); found != outputs.end())
      return refuse("outputs " + quote(found->second) + " and " + quote(path) +
                    " are one file; write to two files");
  }
  return {};
}

Result<void> FileUse::checkOutput(const std::vector<FileId> &ids,
                                  const std::string &path) {
  FileUse *use = get();
  if (!use)
    return {};
  std::lock_guard<std::mutex> lock(use->mutex);
  return use->check(ids, path);
}

Result<void> FileUse::addOutput(const std::vector<FileId> &ids,
                                const std::string &path) {
  FileUse *use = get();
  if (!use)
    return {};
  std::lock_guard<std::mutex> lock(use->mutex);
  TRANSOM_TRY(use->check(ids, path));
  for (const FileId &id : ids)
    use->outputs.emplace(id, path);
  return {};
}

void FileUse::removeOutput(const std::vector<FileId> &ids) {
  FileUse *use = get();
  if (!use)
    return;
  std::lock_guard<std::mutex> lock(use->mutex);
  for (const FileId &id : ids)
    use->outputs.erase(id);
}

std::optional<Error> FileUse::getConflict() const {
  std::lock_guard<std::mutex> lock(mutex);
  return conflict;
}
