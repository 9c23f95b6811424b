// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prompts for `transom generate`: texts, ids or file lines.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transom::tools {

/// A prompt as it was given.
struct Prompt {
  std::string text;
  std::optional<std::vector<int64_t>> ids; ///< in place of the text
};

/// Parses a prompt from a JSON line: a string, an id list, or an object with
/// one of them. Errors begin with FILE:LINE:COLUMN.
Result<Prompt> parsePromptLine(const std::string &text, const std::string &file,
                               size_t line);

} // namespace transom::tools
