// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a model folder: tokenizer.json, or the files that folders
// hold without one.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/SmallFiles.h"
#include <optional>

namespace transom {

/// A folder's tokenizer and the files that were read for it.
struct FolderTokenizer {
  ImportedTokenizer tokenizer;
  std::vector<std::string> files;
  /// The token that a masked language model fills in: `mask_token` of the
  /// settings, or one spelled as in the models that have no settings.
  std::optional<int64_t> maskToken;
  /// The padding token of the settings, or one spelled as usual.
  std::optional<int64_t> paddingToken;
  /// The model gets token types. False where the settings leave them out of
  /// `model_input_names`: it gets zeros.
  bool givesTypes = true;
  /// Longer texts are cut, as the settings say.
  std::optional<int64_t> maxLength;
  /// What fills queries up: the mask token, or else `eos_token`; empty where
  /// there is neither.
  std::string expansionToken;
};

/// Reads the tokenizer of a folder; nothing where it holds no file of one.
/// Without tokenizer.json, `tokenizer_class` of tokenizer_config.json, else
/// config.json, says which files are read and how. Errors as those of
/// `importTokenizer`; `Unsupported` for a class that is not supported. A
/// tokenizer.json is read as the class reads it that AutoTokenizer would make.
/// With `lowersCase` text is made lower case first. `overrides` has keys that
/// count before those of tokenizer_config.json.
Result<std::optional<FolderTokenizer>> importTokenizerFolder(
    const SmallFiles &source, const ModelVocabulary &model = {},
    bool lowersCase = false, std::optional<JsonValue> overrides = std::nullopt);

/// Reads the tokenizer.json of this name in a folder as the tokenizers library
/// does, without settings; nothing where it is not there. `truncation` of the
/// file says how texts are cut.
Result<std::optional<FolderTokenizer>>
importTokenizerFile(const std::string &folder, const std::string &name);

} // namespace transom
