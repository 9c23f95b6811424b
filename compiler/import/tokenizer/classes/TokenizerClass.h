// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer class that transformers 5's AutoTokenizer selects for a folder.
// Class names omit "Fast".
#pragma once
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// Class information in a folder's files.
struct ClassHints {
  std::string settings;  ///< `tokenizer_class` in tokenizer_config.json
  std::string config;    ///< `tokenizer_class` in config.json
  std::string modelType; ///< `model_type` in config.json
};

/// The general tokenizer class, which reads tokenizer.json unchanged.
inline constexpr std::string_view generalClass = "TokenizersBackend";

/// Returns the class that reads a folder without tokenizer.json; empty if no
/// file specifies it.
std::string getFilesClass(const ClassHints &hints);

/// Returns the class that reads a tokenizer.json; the general class by default.
/// `hasByteLevel` is true for one with a ByteLevel step.
std::string getSerializedClass(const ClassHints &hints, bool hasByteLevel);

/// Returns whether a class uses token types unless the settings specify it.
bool hasTypes(std::string_view className);

} // namespace transom::tokenizer
