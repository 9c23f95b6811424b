// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a Marian folder: source.spm cuts text into pieces, and
// vocab.json gives their ids.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"

namespace transom {

/// A file's bytes, and its name in errors.
struct NamedFile {
  std::string_view bytes;
  std::string name;
};

/// Tables with the ids and texts of the class MarianTokenizer of transformers,
/// without its optional normalization of punctuation. `Rejected` where a file
/// is malformed or both contradict each other, `Unsupported` where the model
/// of the pieces is not supported.
Result<ImportedTokenizer> importMarianTokenizer(const NamedFile &pieces,
                                                const NamedFile &vocabulary);

} // namespace transom
