// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes that need another program: results of another process, and
// artifacts that are compiled again.
#pragma once
#include "tools/commands/verify/BitsEntry.h"

namespace transom::tools {

/// A folder that goes away with its files. Move-only.
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

/// Runs the calls of an entry with `transom run` in a process each.
Result<BitsCell> checkProcesses(const std::string &artifact,
                                const std::string &isa, const BitsEntry &entry,
                                const WorkFolder &folder);

/// Compiles `model` again, with the options of the artifact's manifest: twice,
/// with another number of jobs, from and to other folders. An empty `model`
/// gives cells that say what is missing. `Usage` if the artifact is of another
/// model.
Result<std::vector<BitsCell>> checkCompiles(const std::string &artifact,
                                            const Manifest &manifest,
                                            const std::string &model,
                                            const WorkFolder &folder);

} // namespace transom::tools
