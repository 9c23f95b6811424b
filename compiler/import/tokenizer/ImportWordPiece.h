// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers for BERT, DistilBERT, ELECTRA and MPNet folders. Their classes
// only read the tokens and the truncation from a tokenizer.json; without it
// they read vocab.txt.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// Files in such a folder.
struct WordPieceFiles {
  NamedFile vocabulary; ///< vocab.txt, a token a line, or tokenizer.json
  tokenizer::SettingFiles settings;
  std::optional<JsonValue> serialized = {}; ///< parsed tokenizer.json
};

/// Returns true for a supported transformers tokenizer class. `className` is
/// without "Fast".
bool isWordPieceClass(std::string_view className);

/// The supported classes, for messages: `BertTokenizer, ...`.
std::string getWordPieceClassNames();

/// Returns tables with the same ids and texts as transformers 5's class
/// `className`, for which `isWordPieceClass` is true. `Rejected` if a file is
/// malformed or contradicts another.
Result<ImportedTokenizer> importWordPieceTokenizer(std::string_view className,
                                                   const WordPieceFiles &files);

} // namespace transom
