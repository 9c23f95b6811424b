// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Presents a GGUF file as the Hugging Face model folder that it was converted
// from.
#pragma once
#include "compiler/import/gguf/GgufTensors.h"
#include "compiler/import/gguf/GgufTokenizer.h"
#include "runtime/base/SmallFiles.h"
#include "runtime/json/Json.h"

namespace transom::gguf {

/// Contents of the model folder.
struct Model {
  JsonDocument config;
  ModelFiles files;
  FileTexts texts = {};                ///< for the tokenizer and generation
  std::string tokenizerRefusal = {};   ///< as in `TokenizerTexts`
  std::string pooling = {};            ///< as in `ConfigText`
  std::vector<std::string> notes = {}; ///< about the file
};

/// Returns true for a file with the GGUF magic, or whose name ends in `.gguf`.
bool isGguf(const std::string &path);

/// Reads a file. Tensor data remains in the file.
Result<Model> readModel(const std::string &path);

} // namespace transom::gguf
