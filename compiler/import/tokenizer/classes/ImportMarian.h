// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a Marian folder: source.spm cuts text into pieces, and
// vocab.json gives their ids.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include <optional>

namespace transom {

/// The files of a Marian folder.
struct MarianFiles {
  NamedFile pieces, vocabulary; ///< source.spm, vocab.json
  std::optional<NamedFile> targetPieces = std::nullopt; ///< target.spm
  /// target_vocab.json, where the languages do not share a vocabulary.
  std::optional<NamedFile> targetVocabulary = std::nullopt;
  ModelVocabulary model = {};
  tokenizer::SettingFiles settings = {};
};

/// Tables with the ids and texts of the class MarianTokenizer of transformers,
/// without its optional normalization of punctuation. `Rejected` where a file
/// is malformed or they contradict each other, `Unsupported` where the model
/// of the pieces is not supported.
Result<ImportedTokenizer> importMarianTokenizer(const MarianFiles &files);

} // namespace transom
