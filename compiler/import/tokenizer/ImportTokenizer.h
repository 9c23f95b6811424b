// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts tokenizer.json to the flat tables that runtime/tokenizer reads. The
// file is interpreted here once, so that opening the tables needs no work.
#pragma once
#include "compiler/import/tokenizer/TokenizerSettings.h"
#include "runtime/base/Error.h"
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// Tables for an artifact, and notes for the user.
struct ImportedTokenizer {
  std::string tables;
  std::vector<std::string> notes;
};

/// Compiles a tokenizer.json; `fileName` is its name in errors. `Rejected` if
/// the file is malformed or contradicts itself, `Unsupported` for an
/// unsupported model, normalizer, pre-tokenizer or post-processor; both with
/// line, column and JSON pointer.
Result<ImportedTokenizer> importTokenizer(std::string_view json,
                                          const std::string &fileName);

/// The same for a parsed file in a folder, as transformers 5's general class
/// reads it: the settings may add tokens or change their flags, and specify
/// truncation.
Result<ImportedTokenizer>
importTokenizer(JsonValue root, const std::string &fileName,
                const tokenizer::SettingFiles &settings);

} // namespace transom
