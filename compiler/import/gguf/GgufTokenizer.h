// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a GGUF file as the tokenizer.json that the tokenizers
// library has for it, and the tokens at which generated texts end.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include "runtime/base/SmallFiles.h"

namespace transom::gguf {

/// The files of a folder that the metadata `tokenizer.*` stands for:
/// tokenizer.json, tokenizer_config.json, generation_config.json. `vocabulary`
/// is the number of ids that the model has.
struct TokenizerTexts {
  FileTexts texts;
  std::vector<std::string> notes;
  std::string refusal; ///< why there is no tokenizer
};

/// Reads the metadata. `Rejected` with the byte where it contradicts itself; a
/// tokenizer that is not supported is a note.
Result<TokenizerTexts> makeTokenizer(const File &file, int64_t vocabulary);

} // namespace transom::gguf
