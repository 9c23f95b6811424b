// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generation settings of a model's files: generation_config.json, or the
// same keys of config.json where there is no such file.
#pragma once
#include "runtime/base/Error.h"
#include "runtime/base/SmallFiles.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// The settings of a model folder.
struct GenerationSettings {
  /// JSON text for the manifest: known keys with checked values, and what is
  /// not supported as words in "unsupported" and "unsupported_sampling", which
  /// is an error only when texts are generated so.
  std::string json;
  std::vector<std::string> files; ///< that were read, in the folder
  std::vector<std::string> notes; ///< keys that are unknown or not supported
};

/// The value that a family's class has for a key that its config.json lacks.
struct GenerationDefault {
  const char *key;
  int64_t value;
};

/// The model that the settings are of.
struct GenerationModel {
  std::optional<int64_t> vocabulary; ///< its ids are below; absent: any id
  bool hasSource = false;            ///< it is an encoder-decoder
};

/// Reads generation_config.json, or config.json where the folder has no such
/// file; a missing file is treated as an empty one. Next to
/// generation_config.json, config.json only gives an end token and a start
/// token where that file has none. `defaults` count where there is no
/// generation_config.json, for keys that config.json does not have; a null in
/// it means that there is no value.
/// `Rejected` for a key whose value has a wrong type or is out of range, or is
/// an id that generation needs and the model does not have, with file and
/// location. With `ignoreFile` generation_config.json is not read.
Result<GenerationSettings>
readGenerationSettings(const SmallFiles &files, bool ignoreFile = false,
                       const std::vector<GenerationDefault> &defaults = {},
                       const GenerationModel &model = {});

/// True for a key of generation_config.json that is an option, not supported,
/// or without effect. config.json may hold such keys, too.
bool isGenerationKey(std::string_view name);

} // namespace transom
