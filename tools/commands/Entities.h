// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of `transom tag` for models whose types of entities are named on the
// command line.
#pragma once
#include "tools/commands/Texts.h"

namespace transom::tools {

/// The flags of such models.
struct EntityFlags {
  std::vector<std::string> types; ///< of `--entity`
  std::optional<double> threshold;
  bool nested = false, multiLabel = false;

  bool any() const {
    return !types.empty() || threshold || nested || multiLabel;
  }
};

/// Adds `--entity` and the others.
void addEntityFlags(CLI::App &command, EntityFlags &flags);

/// True for a model that finds entities of given types.
bool findsEntities(const TextModel &model);

/// An error where flags are given to a model that has no use for them, or one
/// that needs them has none. `path` names the model.
Result<void> checkEntityFlags(const TextModel &model, const std::string &path,
                              const EntityFlags &flags);

/// Prints the entities of each text as a line of JSON.
Result<void> printEntities(const TextModel &model, const TextInput &input,
                           const EntityFlags &flags, const CommonFlags &common);

} // namespace transom::tools
