// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizers of folders of BERT, DistilBERT, ELECTRA and MPNet. Their
// classes take no more of a tokenizer.json than the tokens and the truncation;
// without it they read vocab.txt.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// The files of such a folder.
struct WordPieceFiles {
  NamedFile vocabulary; ///< vocab.txt, a token a line, or tokenizer.json
  tokenizer::SettingFiles settings;
  std::optional<JsonValue> serialized = {}; ///< what is in tokenizer.json
};

/// True for a tokenizer class of transformers that is supported. `className` is
/// without "Fast".
bool isWordPieceClass(std::string_view className);

/// The supported classes, for messages: `BertTokenizer, ...`.
std::string getWordPieceClassNames();

/// Tables with the ids and texts of the class `className` of transformers 5,
/// for which `isWordPieceClass` is true. `Rejected` where a file is malformed
/// or contradicts another.
Result<ImportedTokenizer> importWordPieceTokenizer(std::string_view className,
                                                   const WordPieceFiles &files);

} // namespace transom
