// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tokenizer class AutoTokenizer of transformers 5 makes of a folder.
// Classes are named without "Fast".
#pragma once
#include <string>
#include <string_view>

namespace transom::tokenizer {

/// What the files of a folder say of its class.
struct ClassHints {
  std::string settings;  ///< `tokenizer_class` of tokenizer_config.json
  std::string config;    ///< that of config.json
  std::string modelType; ///< `model_type` of config.json
};

/// The class of a general tokenizer, which takes tokenizer.json as it is.
inline constexpr std::string_view generalClass = "TokenizersBackend";

/// The class that reads a folder without tokenizer.json; empty where no file
/// says which.
std::string getFilesClass(const ClassHints &hints);

/// The class that reads a tokenizer.json, which is the general one where it is
/// no other. `hasByteLevel` is true for one with a step ByteLevel.
std::string getSerializedClass(const ClassHints &hints, bool hasByteLevel);

/// Whether texts of a class have token types unless the settings say so.
bool hasTypes(std::string_view className);

} // namespace transom::tokenizer
