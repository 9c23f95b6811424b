// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model's generation settings: generation_config.json, or the same keys in
// config.json if there is no such file.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/base/SmallFiles.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// A model folder's settings.
struct GenerationSettings {
  /// JSON for the manifest: known keys with checked values, and unsupported
  /// settings as strings in "unsupported" and "unsupported_sampling", which
  /// only cause an error if generation uses them.
  std::string json;
  std::vector<std::string> files; ///< files read, relative to the folder
  std::vector<std::string> notes; ///< unknown or unsupported keys
};

/// Value that a family's class uses for a key that its config.json omits.
struct GenerationDefault {
  const char *key;
  int64_t value;
};

/// The model with these settings.
struct GenerationModel {
  std::optional<int64_t> vocabulary; ///< ids are less than this; absent: any id
  bool hasSource = false;            ///< it is an encoder-decoder
};

/// Reads generation_config.json, or config.json if the folder has no such file;
/// a missing file is treated as an empty one. Next to generation_config.json,
/// config.json only provides an end token and a start token if that file has
/// none. `defaults` are used without generation_config.json, for keys that
/// config.json omits; a null in config.json means no value. `Rejected`, with
/// file and location, for a key whose value has a wrong type or is out of
/// range, or is an id that generation needs and the model does not have. With
/// `ignoreFile` generation_config.json is not read.
Result<GenerationSettings>
readGenerationSettings(const SmallFiles &files, bool ignoreFile = false,
                       const std::vector<GenerationDefault> &defaults = {},
                       const GenerationModel &model = {});

/// Returns true for a generation_config.json key that is an option,
/// unsupported, or without effect. config.json may contain such keys, too.
bool isGenerationKey(std::string_view name);

} // namespace transom
