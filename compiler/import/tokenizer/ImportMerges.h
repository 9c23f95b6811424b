// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenizers for folders with vocab.json and merges.txt instead of
// tokenizer.json: byte-level BPE as in GPT-2, RoBERTa, BART, Blenderbot,
// DeBERTa and Qwen2.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"

namespace transom {

/// Files in such a folder.
struct MergeFiles {
  NamedFile vocabulary, merges; ///< or tokenizer.json, without `merges`
  tokenizer::SettingFiles settings;
  std::optional<JsonValue> serialized = {}; ///< parsed tokenizer.json
};

/// Returns true for a supported transformers tokenizer class. `className` is
/// without "Fast".
bool isMergesClass(std::string_view className, bool serialized = false);

/// The supported classes, for messages: `BartTokenizer, ...`.
std::string getMergesClassNames();

/// Returns tables with the same ids and texts as transformers 5's class
/// `className`, for which `isMergesClass` is true. `Rejected` if a file is
/// malformed or contradicts another.
Result<ImportedTokenizer> importMergesTokenizer(std::string_view className,
                                                const MergeFiles &files);

} // namespace transom
