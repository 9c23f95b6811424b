// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The metadata of a GGUF file as the config.json that Hugging Face has for the
// model.
#pragma once
#include "compiler/import/gguf/GgufArchitecture.h"
#include <map>

namespace transom::gguf {

/// A config.json that was made from a file.
struct ConfigText {
  std::string json;
  /// What the value at a JSON pointer was made from.
  std::map<std::string, std::string> origins;
  int64_t vocabulary = 0, layers = 0, heads = 0, kvHeads = 0;
  std::string pooling = "mean";   ///< of embeddings: `mean` or `cls`
  std::vector<std::string> notes; ///< keys that are not known
};

/// The row for the file's architecture. `Unsupported` for a file of another
/// kind than a model, a part of a split model, or another architecture.
Result<const Architecture *> getArchitecture(const File &file);

/// Makes the config. Errors name the byte of the value.
Result<ConfigText> makeConfig(const File &file, const Architecture &row);

} // namespace transom::gguf
