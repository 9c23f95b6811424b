// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizers of folders that hold vocab.json and merges.txt instead of
// tokenizer.json: byte-level BPE of GPT-2, RoBERTa, BART, Blenderbot,
// DeBERTa and Qwen2.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// The files of such a folder.
struct MergeFiles {
  NamedFile vocabulary, merges; ///< or tokenizer.json, without `merges`
  tokenizer::SettingFiles settings;
  std::optional<JsonValue> serialized = {}; ///< what is in tokenizer.json
};

/// True for a tokenizer class of transformers that is supported. `className` is
/// without "Fast".
bool isMergesClass(std::string_view className, bool serialized = false);

/// The supported classes, for messages: `BartTokenizer, ...`.
std::string getMergesClassNames();

/// Tables with the ids and texts of the class `className` of transformers 5,
/// for which `isMergesClass` is true. `Rejected` where a file is malformed or
/// contradicts another.
Result<ImportedTokenizer> importMergesTokenizer(std::string_view className,
                                                const MergeFiles &files);

} // namespace transom
