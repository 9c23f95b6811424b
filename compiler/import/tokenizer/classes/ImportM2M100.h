// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of an M2M100 folder: sentencepiece.bpe.model cuts text into
// pieces, vocab.json gives their ids, and languages have the ids after those.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// The files of an M2M100 folder.
struct M2M100Files {
  NamedFile pieces, vocabulary;
  tokenizer::SettingFiles settings;
  ModelVocabulary model = {};
};

/// Tables with the ids and texts of the class M2M100Tokenizer of transformers.
/// `Rejected` where a file is malformed or they contradict each other,
/// `Unsupported` where the model of the pieces is not supported.
Result<ImportedTokenizer> importM2M100Tokenizer(const M2M100Files &files);

} // namespace transom
