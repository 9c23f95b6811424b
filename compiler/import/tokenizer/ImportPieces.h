// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizers of folders that hold a model file of SentencePiece instead of
// tokenizer.json: those of ALBERT, CamemBERT, DeBERTa V2, T5, XLM-RoBERTa,
// mBART, NLLB, Pegasus and Llama.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// The files of such a folder.
struct PieceFiles {
  NamedFile pieces; ///< the model file, or tokenizer.json
  tokenizer::SettingFiles settings;
  std::optional<JsonValue> serialized = {}; ///< what is in tokenizer.json
};

/// The name of the model file that a tokenizer class of transformers reads;
/// null for a class that is not supported. `className` is without "Fast".
const char *getPieceFileName(std::string_view className);
/// The type of the model that a class takes from a tokenizer.json; null for
/// another class.
const char *getPieceModelType(std::string_view className);

/// The supported classes, for messages: `LlamaTokenizer, ...`.
std::string getPieceClassNames();

/// Tables with the ids and texts of the class `className` of transformers 5,
/// which `getPieceFileName` knows. `Rejected` where a file is malformed or does
/// not fit the class.
Result<ImportedTokenizer> importPieceTokenizer(std::string_view className,
                                               const PieceFiles &files);

} // namespace transom
