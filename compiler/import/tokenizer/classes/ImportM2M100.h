// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// M2M100 folder tokenizer: sentencepiece.bpe.model splits text into pieces,
// vocab.json contains their ids, and languages use the ids after them.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// Files in an M2M100 folder.
struct M2M100Files {
  NamedFile pieces, vocabulary;
  tokenizer::SettingFiles settings;
  ModelVocabulary model = {};
};

/// Returns tables with the same ids and texts as transformers' M2M100Tokenizer.
/// `Rejected` if a file is malformed or files contradict each other,
/// `Unsupported` if the piece model is not supported.
Result<ImportedTokenizer> importM2M100Tokenizer(const M2M100Files &files);

} // namespace transom
