// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tokenizer.json to the flat tables that runtime/tokenizer reads. What the file
// means is fixed here once, so that opening the tables is no work.
#pragma once
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/Error.h"
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// Tables for an artifact, and what a user should know about them.
struct ImportedTokenizer {
  std::string tables;
  std::vector<std::string> notes;
};

/// Compiles the text of a tokenizer.json; `fileName` is its name in errors.
/// `Rejected` where the file is malformed or contradicts itself,
/// `Unsupported` where it names a model, normalizer, pre-tokenizer or
/// post-processor that is not supported; both with line, column and JSON
/// pointer.
Result<ImportedTokenizer> importTokenizer(std::string_view json,
                                          const std::string &fileName);

/// The same for a parsed file in a folder, as the general class of transformers
/// 5 reads it: the settings beside it may add tokens or change their flags, and
/// say how texts are cut.
Result<ImportedTokenizer>
importTokenizer(JsonValue root, const std::string &fileName,
                const tokenizer::SettingFiles &settings);

} // namespace transom
