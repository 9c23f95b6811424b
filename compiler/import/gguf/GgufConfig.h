// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts GGUF metadata to the model's Hugging Face config.json.
#pragma once
#include "compiler/import/gguf/GgufArchitecture.h"
#include <map>

namespace transom::gguf {

/// A config.json created from a file.
struct ConfigText {
  std::string json;
  /// Each value's source, by JSON pointer.
  std::map<std::string, std::string> origins;
  int64_t vocabulary = 0, layers = 0, heads = 0, kvHeads = 0;
  std::string pooling = "mean";   ///< embedding pooling: `mean` or `cls`
  std::vector<std::string> notes; ///< unknown keys
};

/// Returns the row for the file's architecture. `Unsupported` for a file that
/// is not a model, one part of a split model, or another architecture.
Result<const Architecture *> getArchitecture(const File &file);

/// Creates the config. Errors name the value's byte offset.
Result<ConfigText> makeConfig(const File &file, const Architecture &row);

} // namespace transom::gguf
