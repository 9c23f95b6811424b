// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model folder's tokenizer: tokenizer.json, or the files that folders have
// without one.
#pragma once
#include "compiler/import/tokenizer/ImportTokenizer.h"
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/SmallFiles.h"
#include <optional>

namespace transom {

/// A folder's tokenizer and the files read for it.
struct FolderTokenizer {
  ImportedTokenizer tokenizer;
  std::vector<std::string> files;
  /// Token that a masked language model fills in: `mask_token` in the settings,
  /// or the usual spelling for models without settings.
  std::optional<int64_t> maskToken;
  /// Padding token in the settings, or one with the usual spelling.
  std::optional<int64_t> paddingToken;
  /// The model receives token types. False if `model_input_names` in the
  /// settings omits them: it receives zeros.
  bool givesTypes = true;
  /// Longer texts are truncated, as in the settings.
  std::optional<int64_t> maxLength;
  /// Token that pads queries: the mask token, or else `eos_token`; empty
  /// without both.
  std::string expansionToken;
};

/// Reads a folder's tokenizer; nullopt if it has no tokenizer file. Without
/// tokenizer.json, `tokenizer_class` in tokenizer_config.json, else
/// config.json, determines the files and the format. Errors as for
/// `importTokenizer`; `Unsupported` for an unsupported class. A tokenizer.json
/// is interpreted by the class that AutoTokenizer selects. With `lowersCase`
/// text is converted to lower case first. `overrides` takes precedence over
/// tokenizer_config.json.
Result<std::optional<FolderTokenizer>> importTokenizerFolder(
    const SmallFiles &source, const ModelVocabulary &model = {},
    bool lowersCase = false, std::optional<JsonValue> overrides = std::nullopt);

/// Reads the tokenizer.json with this name in a folder as the tokenizers
/// library does, without settings; nullopt if it does not exist. The file's
/// `truncation` applies.
Result<std::optional<FolderTokenizer>>
importTokenizerFile(const std::string &folder, const std::string &name);

} // namespace transom
