// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GGUF file as the model folder of Hugging Face that it was made from.
#pragma once
#include "compiler/import/gguf/GgufTensors.h"
#include "compiler/import/gguf/GgufTokenizer.h"
#include "runtime/base/SmallFiles.h"
#include "runtime/json/Json.h"

namespace transom::gguf {

/// What a model folder would have.
struct Model {
  JsonDocument config;
  ModelFiles files;
  FileTexts texts = {};                ///< of the tokenizer and of generation
  std::string tokenizerRefusal = {};   ///< as of `TokenizerTexts`
  std::string pooling = {};            ///< as of `ConfigText`
  std::vector<std::string> notes = {}; ///< about the file
};

/// True for a file that begins as GGUF does, or whose name ends in `.gguf`.
bool isGguf(const std::string &path);

/// Reads a file. Data of tensors stays in it.
Result<Model> readModel(const std::string &path);

} // namespace transom::gguf
