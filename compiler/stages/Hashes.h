// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes of the model's input files.
#pragma once
#include "runtime/base/Error.h"
#include <atomic>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// File hashes by file name.
using FileHashes = std::map<std::string, std::string>;

/// Hashes files in a separate thread during the compile; only a few megabytes
/// are in memory at a time.
class InputHashes {
public:
  InputHashes() = default;
  ~InputHashes();
  InputHashes(const InputHashes &) = delete;
  InputHashes &operator=(const InputHashes &) = delete;

  /// Starts hashing these files in a folder, and others by name and path.
  void
  start(const std::string &folder, const std::vector<std::string> &names,
        const std::vector<std::pair<std::string, std::string>> &others = {});
  /// Waits for the thread and returns each file's hash by name.
  Result<FileHashes> take();

private:
  std::atomic<bool> stopped{false};
  std::future<Result<FileHashes>> pending;
};

} // namespace transom
