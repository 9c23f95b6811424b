// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts a GGUF tokenizer to the equivalent tokenizer.json for the tokenizers
// library, and collects the tokens that end generation.
#pragma once
#include "compiler/import/gguf/Gguf.h"
#include "runtime/base/SmallFiles.h"

namespace transom::gguf {

/// Model folder files that correspond to the metadata `tokenizer.*`:
/// tokenizer.json, tokenizer_config.json, generation_config.json. `vocabulary`
/// is the number of token ids in the model.
struct TokenizerTexts {
  FileTexts texts;
  std::vector<std::string> notes;
  std::string refusal; ///< reason why there is no tokenizer
};

/// Reads the metadata. `Rejected` with the byte offset for contradictions; an
/// unsupported tokenizer gives a note.
Result<TokenizerTexts> makeTokenizer(const File &file, int64_t vocabulary);

} // namespace transom::gguf
