// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Adapters of low rank (Hu et al. 2021) that a checkpoint has for each of its
// tasks, and the one that is merged.
#pragma once
#include "compiler/import/Parameters.h"
#include "compiler/import/huggingface/ModelFamily.h"

namespace transom {

/// Reads the adapters of a config and chooses that of `task`; nothing where it
/// is empty. An error where the config has no such task. `notes` says which
/// tasks there are, or what texts of the task begin with.
Result<std::optional<Adapter>> readAdapter(Config &config,
                                           const FamilyKeys &keys,
                                           const std::string &task,
                                           std::vector<std::string> &notes);

} // namespace transom
