// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Low-rank adapters (Hu et al. 2021) that a checkpoint contains for each of its
// tasks, and the selection of the one to merge.
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/huggingface/ModelFamily.h"

namespace transom {

/// Reads a config's adapters and selects the one for `task`; nullopt if `task`
/// is empty. Returns an error if the config has no such task. `notes` lists the
/// tasks, or the task's text prefix.
Result<std::optional<Adapter>> readAdapter(Config &config,
                                           const FamilyKeys &keys,
                                           const std::string &task,
                                           std::vector<std::string> &notes);

} // namespace transom
