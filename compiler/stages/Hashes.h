// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes of the files that a model was made from.
#pragma once
#include "runtime/base/Error.h"
#include <atomic>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace transom {

/// Hashes of files by their names.
using FileHashes = std::map<std::string, std::string>;

/// Hashes files in a thread of its own while the compile goes on; only a few
/// megabytes of them are in memory at a time.
class InputHashes {
public:
  InputHashes() = default;
  ~InputHashes();
  InputHashes(const InputHashes &) = delete;
  InputHashes &operator=(const InputHashes &) = delete;

  /// Begins with these files of a folder, and others by name and path.
  void
  start(const std::string &folder, const std::vector<std::string> &names,
        const std::vector<std::pair<std::string, std::string>> &others = {});
  /// Waits; the hash of each file by its name.
  Result<FileHashes> take();

private:
  std::atomic<bool> stopped{false};
  std::future<Result<FileHashes>> pending;
};

} // namespace transom
