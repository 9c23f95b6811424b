// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `transom tag` for models that take entity types from the command line.
#pragma once
#include "tools/commands/text/Texts.h"

namespace transom::tools {

/// Flags for such models.
struct EntityFlags {
  std::vector<std::string> types; ///< from `--entity`
  std::optional<double> threshold;
  bool nested = false, multiLabel = false;

  bool any() const {
    return !types.empty() || threshold || nested || multiLabel;
  }
};

/// Adds `--entity` and the other flags.
void addEntityFlags(CLI::App &command, EntityFlags &flags);

/// Returns true if a model finds entities by given types.
bool findsEntities(const TextModel &model);

/// Fails if the flags are given to a model that does not use them, or missing
/// for a model that needs them. `path` names the model.
Result<void> checkEntityFlags(const TextModel &model, const std::string &path,
                              const EntityFlags &flags);

/// Prints each text's entities as a JSON line.
Result<void> printEntities(const TextModel &model, const TextInput &input,
                           const EntityFlags &flags, const CommonFlags &common);

} // namespace transom::tools
