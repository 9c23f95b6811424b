// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marian folder tokenizer: source.spm splits text into pieces, and vocab.json
// contains their ids.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include <optional>

namespace transom {

/// Files in a Marian folder.
struct MarianFiles {
  NamedFile pieces, vocabulary; ///< source.spm, vocab.json
  std::optional<NamedFile> targetPieces = std::nullopt; ///< target.spm
  /// target_vocab.json, if the languages do not share a vocabulary.
  std::optional<NamedFile> targetVocabulary = std::nullopt;
  ModelVocabulary model = {};
  tokenizer::SettingFiles settings = {};
};

/// Returns tables with the same ids and texts as transformers' MarianTokenizer,
/// without its optional punctuation normalization. `Rejected` if a file is
/// malformed or files contradict each other, `Unsupported` if the piece model
/// is not supported.
Result<ImportedTokenizer> importMarianTokenizer(const MarianFiles &files);

} // namespace transom
