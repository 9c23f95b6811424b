// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes that need another process: results from `transom run`, and recompiled
// artifacts.
#pragma once
#include "tools/commands/verify/BitsEntry.h"

namespace transom::tools {

/// A temporary folder, removed with its files by the destructor. Move-only.
class WorkFolder {
public:
  static Result<WorkFolder> create();
  WorkFolder(WorkFolder &&other) noexcept : where(std::move(other.where)) {
    other.where.clear();
  }
  ~WorkFolder();
  const std::string &path() const { return where; }

private:
  WorkFolder() = default;
  std::string where;
};

/// Runs each call on an entry with `transom run` in a separate process.
Result<BitsCell> checkProcesses(const std::string &artifact,
                                const std::string &isa, const BitsEntry &entry,
                                const WorkFolder &folder);

/// Recompiles `model` with the options in the artifact's manifest: twice, with
/// another job count, and between other folders. For an empty `model` the cells
/// state the missing input. Fails with `Usage` if the artifact was compiled
/// from another model.
Result<std::vector<BitsCell>> checkCompiles(const std::string &artifact,
                                            const Manifest &manifest,
                                            const std::string &model,
                                            const WorkFolder &folder);

} // namespace transom::tools
