// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers for folders with a SentencePiece model file instead of
// tokenizer.json: ALBERT, CamemBERT, DeBERTa V2, T5, XLM-RoBERTa, mBART, NLLB,
// Pegasus and Llama.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// Files in such a folder.
struct PieceFiles {
  NamedFile pieces; ///< the model file, or tokenizer.json
  tokenizer::SettingFiles settings;
  std::optional<JsonValue> serialized = {}; ///< parsed tokenizer.json
};

/// Returns the model file name for a transformers tokenizer class; null for an
/// unsupported class. `className` is without "Fast".
const char *getPieceFileName(std::string_view className);
/// Returns the model type that a class expects in a tokenizer.json; null for
/// other classes.
const char *getPieceModelType(std::string_view className);

/// The supported classes, for messages: `LlamaTokenizer, ...`.
std::string getPieceClassNames();

/// Returns tables with the same ids and texts as transformers 5's class
/// `className`, which `getPieceFileName` supports. `Rejected` if a file is
/// malformed or does not fit the class.
Result<ImportedTokenizer> importPieceTokenizer(std::string_view className,
                                               const PieceFiles &files);

} // namespace transom
